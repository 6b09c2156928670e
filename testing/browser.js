// Measures the page that it is appended to, for testing/browser.py.

// The parts of a colour, 0 to 1, and its opacity.
const parts = (colour) => {
  const [red, green, blue, alpha = 1] = colour.match(/[\d.]+/g).map(Number);
  return [red / 255, green / 255, blue / 255, alpha];
};
// WCAG 2.2, relative luminance and contrast ratio.
const luminance = (rgb) => {
  const [red, green, blue] = rgb.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};
const contrast = (one, other) => {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
};
// The colour that Chromium paints below everything.
const isDark =
  matchMedia("(prefers-color-scheme: dark)").matches &&
  getComputedStyle(document.documentElement).colorScheme.includes("dark");
const canvas = isDark ? [0.07, 0.07, 0.07] : [1, 1, 1];
const below = (element) => {
  if (!element) return canvas;
  const [red, green, blue, alpha] = parts(getComputedStyle(element).backgroundColor);
  const under = below(element.parentElement);
  return [red, green, blue].map((part, index) => part * alpha + under[index] * (1 - alpha));
};
const ink = (element) => getComputedStyle(element)[element.closest("svg") ? "fill" : "color"];
const name = (element) => `${element.tagName.toLowerCase()}: ${element.textContent.trim().slice(0, 60)}`;
const hasText = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
const isShown = (element) => element.getClientRects().length > 0;

const faint = [...document.querySelectorAll("body *")]
  .filter((element) => !element.closest("script, style, title") && hasText(element) && isShown(element))
  .filter((element) => contrast(parts(ink(element)).slice(0, 3), below(element)) < 4.5)
  .map(name);

const drawings = [...document.querySelectorAll("svg")].map((svg) => {
  const frame = svg.getBoundingClientRect();
  const frameOf = (element) => element.getBoundingClientRect();
  const isOutside = ({ left, right, top, bottom }) =>
    left < frame.left - 1 || right > frame.right + 1 || top < frame.top - 1 || bottom > frame.bottom + 1;
  const texts = [...svg.querySelectorAll("text")];
  const bars = [...svg.querySelectorAll("rect:not(.back)")];
  const overlaps = (one, other) =>
    one.left < other.right - 1 && other.left < one.right - 1 && one.top < other.bottom - 1 && other.top < one.bottom - 1;
  return {
    width: frame.width,
    bars: bars.length,
    thinnest: Math.min(...bars.map((element) => frameOf(element).width)),
    outside: [...texts, ...bars].filter((element) => isOutside(frameOf(element))).map(name),
    overlapping: texts
      .flatMap((one, index) => texts.slice(index + 1).map((other) => [one, other]))
      .filter(([one, other]) => overlaps(frameOf(one), frameOf(other)))
      .map((pair) => pair.map(name).join(" | ")),
  };
});

document.body.dataset.measured = JSON.stringify({
  title: document.title,
  loaded: performance.getEntriesByType("resource").map((resource) => resource.name),
  hidden_px: document.documentElement.scrollWidth - innerWidth,
  faint,
  drawings,
});
