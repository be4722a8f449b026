"""WhatsApp's Cloud API (https://developers.facebook.com/docs/whatsapp/cloud-api)."""

from functions.channels.whatsapp.channel import WhatsApp

__all__ = ["WhatsApp"]
