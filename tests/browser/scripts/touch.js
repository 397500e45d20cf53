// What a reader may do by accident: unfold everything, hover, focus, press, and follow what is no plain link.
// An event goes only where something could answer it: JupyterLab's own listeners take 2 ms for each of the others.
() => {
  const ours = /^(a|b|blockquote|code|del|details|div|em|h\d|ins|li|mark|ol|p|pre|s|small|span|strong|summary|table|tbody|td|th|thead|tr|ul)$/i
  const kinds = ['mouseover', 'mouseenter', 'pointerover', 'focus', 'focusin', 'blur', 'wheel', 'scroll', 'cut', 'click']
  for (const d of document.querySelectorAll('details')) d.open = true
  let seen = 0
  for (const root of document.querySelectorAll(%r)) for (const n of root.querySelectorAll('*')) {
    seen++
    if (!ours.test(n.tagName) && !n.closest('mjx-container') || [...n.attributes].some(a => /^(on|data-commandlinker)/i.test(a.name)))
      for (const kind of kinds) n.dispatchEvent(new Event(kind, {bubbles: kind === 'click'}))
    const href = n.getAttribute('href') || n.getAttribute('xlink:href') || ''
    if (href && !/^(https?:|mailto:)/i.test(href)) n.click?.()
  }
  return seen
}
