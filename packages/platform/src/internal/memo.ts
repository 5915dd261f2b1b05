/** What a function makes of texts, kept for so many of them; when they are more, it starts over. */
export const memo = <A>(most: number, make: (text: string) => A): ((text: string) => A) => {
  const known = new Map<string, A>()
  return (text) => {
    if (known.has(text)) return known.get(text)!
    if (known.size >= most) known.clear()
    const made = make(text)
    known.set(text, made)
    return made
  }
}
