// Charts grow and shrink with their place; their text keeps its size on the screen.

const LEAST = 0.5, MOST = 2;  // a chart has no room for letters of more than twice their share

// `wide`: the width of the chart's own units. `then(times)` is called with how much larger its letters are in them.
export function keepTextSize(picture, wide, then = () => {}) {
  then(1);
  new ResizeObserver(([{ contentRect }]) => {
    if (!contentRect.width) return;
    const times = Math.min(MOST, Math.max(LEAST, wide / contentRect.width));
    picture.style.setProperty("--times", times.toFixed(3));
    then(times);
  }).observe(picture);
}
