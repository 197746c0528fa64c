"""What a forward pass keeps for its backward pass, which turns it into gradients in place: it is good for one."""


class SingleUse:
    """Autograd would run a second backward pass (`retain_graph`) over what the first one overwrote, silently wrong."""

    spent = False

    def spend(self) -> None:
        """Called when a backward pass begins."""
        if self.spent:
            raise RuntimeError(
                "a second backward pass through these recurrent steps is impossible: the first one overwrote what they "
                "kept; run the forward pass again, or add the losses and call backward once"
            )
        self.spent = True
