"""What is shown: value -> view-model -> text and static HTML; sees core only."""
