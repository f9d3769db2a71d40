const chosen = (() => {  // a scope of its own: an explorer may use any name
SOURCE
  const words = typeof format === "undefined" ? {} : format;
  return {
    controls: controls.map((control) => ({ ...control, format: words[control.name] })),
    view,
    changed: typeof changed === "undefined" ? null : changed,
  };
})();
export default explorer(chosen);
