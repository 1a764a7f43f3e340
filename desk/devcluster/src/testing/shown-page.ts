import type { Beginning, Item } from '../page/view/wire.ts'
import { apply } from '../page/view/wire.ts'

/** Returns the items that a page shows if it is opened now. */
export async function shownAt(url: string): Promise<ReadonlyMap<string, Item>> {
  const response = await fetch(new URL('/frames', url))
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (!text.includes('\n\n')) text += (await reader?.read())?.value ?? ''
  await reader?.cancel()
  const { items, frames } = JSON.parse(text.slice(text.indexOf('data: ') + 6)) as Beginning
  const map = new Map(items.map((item): [string, Item] => [item.id, item]))
  for (const frame of frames) apply(map, frame)
  return map
}
