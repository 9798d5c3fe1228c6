for (const box of document.querySelectorAll(".slider")) {
  const [slider, label] = [box.querySelector("input"), box.querySelector("output")];
  const labels = box.dataset.labels.split("|");
  const frames = box.dataset.frames.split(" ");
  const strokes = box.dataset.strokes.split(" ").map((stroke) => stroke.split(","));
  // The page contains the same arcs once per layout width.
  const pictures = [...box.querySelectorAll("svg")].map((svg) => [...svg.querySelectorAll(".arc")]);
  const show = () => {
    const frame = frames[slider.value];
    label.textContent = labels[slider.value];
    slider.setAttribute("aria-valuetext", labels[slider.value]);
    for (const arcs of pictures) {
      arcs.forEach((arc, i) => {
        const [opacity, width] = strokes[parseInt(frame.slice(2 * i, 2 * i + 2), 16)];
        arc.setAttribute("stroke-opacity", opacity);
        arc.setAttribute("stroke-width", width);
      });
    }
  };
  slider.addEventListener("input", show);
  show();
}
