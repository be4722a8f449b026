"""Language models: the contract, the endpoint, the offline model, and their failures."""
