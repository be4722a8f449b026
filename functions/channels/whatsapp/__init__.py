"""WhatsApp's Cloud API (https://developers.facebook.com/docs/whatsapp/cloud-api)."""
