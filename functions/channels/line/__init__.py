"""LINE as a chat platform (https://developers.line.biz/en/reference/messaging-api/)."""
