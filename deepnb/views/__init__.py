"""What is shown: value -> view-model -> text and static HTML; does nothing else."""
