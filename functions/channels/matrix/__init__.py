"""Matrix (https://spec.matrix.org): the account of an application service, or any other."""
