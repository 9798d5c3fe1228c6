use induct_kernels::model::Layout;

#[test]
fn groups_are_parts_and_tensors() {
    let mut layout = Layout::default();
    for name in [
        "embed.E",
        "layers.0.W_Q",
        "layers.0.mlp.W_in",
        "layers.1.W_Q",
        "v",
    ] {
        layout.push(name.into(), &[2], true);
    }
    let expected = "embed embed.E layers.0 layers.0.W_Q layers.0.mlp.W_in layers.1 layers.1.W_Q v";
    assert_eq!(layout.groups().join(" "), expected);
    let tensors: Vec<&str> = layout
        .in_group("layers.0")
        .map(|t| t.name.as_str())
        .collect();
    assert_eq!(tensors, ["layers.0.W_Q", "layers.0.mlp.W_in"]);
}

#[test]
fn groups_match_whole_components() {
    let mut layout = Layout::default();
    layout.push("layers.1.W_K".into(), &[4, 4], true);
    let tensor = &layout.tensors()[0];
    for group in ["all", "layers", "layers.1", "layers.1.W_K", "W_K"] {
        assert!(tensor.is_in(group), "{group}");
    }
    for group in ["layer", "layers.10", "K", "1", "W_Q", ""] {
        assert!(!tensor.is_in(group), "{group}");
    }
}
