{
  const slider = document.getElementById("moment");
  const label = document.getElementById("moment-label");
  // The page contains the same arcs once per layout width.
  const pictures = [...document.querySelectorAll("#arcs svg")].map((svg) => [...svg.querySelectorAll(".arc")]);
  const show = () => {
    const frame = FRAMES[slider.value];
    label.textContent = LABELS[slider.value];
    slider.setAttribute("aria-valuetext", LABELS[slider.value]);
    for (const arcs of pictures) {
      arcs.forEach((arc, i) => {
        const [opacity, width] = STROKES[parseInt(frame.slice(2 * i, 2 * i + 2), 16)];
        arc.setAttribute("stroke-opacity", opacity);
        arc.setAttribute("stroke-width", width);
      });
    }
  };
  slider.addEventListener("input", show);
  show();
}
