"""All channels. A new one is a file beside this one, and one line here."""

from __future__ import annotations

from collections.abc import Mapping

from advisor.models.notification import ChannelKind
from advisor.notifications.channels.channel import Channel
from advisor.notifications.channels.mail import Mail
from advisor.notifications.channels.service import Service
from advisor.notifications.channels.webhook import Webhook

CHANNELS: Mapping[ChannelKind, Channel] = {
    ChannelKind.MAIL: Mail(),
    ChannelKind.WEBHOOK: Webhook(),
    ChannelKind.SERVICE: Service(),
}
