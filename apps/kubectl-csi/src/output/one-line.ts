/** Words of drivers, kubelets and servers hold line breaks, and may hold what a terminal obeys. */
export function oneLine(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ')
}
