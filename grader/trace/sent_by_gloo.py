"""What gloo has sent for a rank, below torch."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SentByGloo:
    """Bytes of payloads that gloo has sent for one rank."""

    of_messages: int
    of_collectives: int

    def since(self, before: "SentByGloo") -> "SentByGloo":
        """Return what has come to it; less than nothing where a rank has written here."""
        return SentByGloo(
            self.of_messages - before.of_messages, self.of_collectives - before.of_collectives
        )
