// Of each element of an output, all unfolded: what it is, what is read in it, and how it is drawn.
() => [...document.querySelectorAll('.jp-OutputArea-output .jp-RenderedHTMLCommon, .jp-OutputArea-output.jp-RenderedHTMLCommon')].map(root => {
  root.querySelectorAll('details').forEach(d => d.open = true)
  return [...root.querySelectorAll('*')].map(n => {
    const s = getComputedStyle(n), box = n.getBoundingClientRect()
    return {tag: n.tagName.toLowerCase(), words: n.innerText,
            drawn: Object.fromEntries(%s.map(p => [p, s[p]])),
            size: [Math.round(box.width), Math.round(box.height)],
            attributes: Object.fromEntries([...n.attributes].map(a => [a.name, a.value]))}
  })
})
