// Elements, attributes and addresses that no view of ours makes, as the browser's own parser sees them.
() => {
  const odd = new Set()
  const bad = /^(script|style|iframe|object|embed|img|video|audio|source|svg|math|form|input|textarea|select|link|meta|base|template)$/i
  for (const root of document.querySelectorAll(%r)) for (const n of root.querySelectorAll('*')) {
    const image = n.tagName === 'IMG' && /^data:image\/(png|jpe?g|gif|webp);base64,[A-Za-z0-9+/=]+$/.test(n.getAttribute('src'))
    if (bad.test(n.tagName) && !n.closest('mjx-container') && !image) odd.add('<' + n.tagName + '>')
    for (const a of n.attributes) {
      if (/^(on|data-commandlinker)/i.test(a.name)) odd.add(a.name)
      if (/^(href|src|action|formaction|ping|srcset|background|data|poster)$/i.test(a.name) && !(image && a.name === "src") && !/^(https?:|mailto:)/i.test(a.value))
        odd.add(a.name + '=' + a.value.slice(0, 60))
    }
    if (/url\(|fixed/i.test(n.getAttribute('style') || '')) odd.add('style=' + n.getAttribute('style').slice(0, 80))
  }
  return [...odd]
}
