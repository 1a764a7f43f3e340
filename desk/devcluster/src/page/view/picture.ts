import type { ClaimRow, Item, PlaceState } from './wire.ts'

/** A pod in the picture, or a volume on one node. Its key stays the same when it moves to another node. */
export interface Chip {
  readonly key: string
  readonly kind: 'pod' | 'volume'
  readonly name: string
  /** The phase of a pod, or the state of a volume on that node. */
  readonly state: string
}

/** A node with its pods and volumes, or the area for volumes without a node. */
export interface Box {
  readonly key: string
  readonly name: string
  /** The unusual states of the node, such as `not ready`. */
  readonly notes: readonly string[]
  readonly chips: readonly Chip[]
  /** The number of pods and volumes that are not drawn. */
  readonly more: number
}

/** The maximum number of nodes in the picture, and of pods and volumes in one box. */
const MAX_NODES = 12
const MAX_CHIPS = 12

const NO_NODE = { key: 'pods', name: 'Pods without a node', notes: [] }
const NOT_ATTACHED = { key: 'volumes', name: 'Volumes on no node', notes: [] }

/** Returns the boxes of the picture: the nodes in order, then the pods and volumes without a node. */
export function pictureOf(items: Iterable<Item>): { readonly boxes: readonly Box[]; readonly moreNodes: number } {
  const all = [...items]
  const nodes = all.filter((item) => item.kind === 'node').sort((a, b) => BY_NAME.compare(a.name, b.name))
  const at = new Map<string, Chip[]>()
  const addChip = (box: string, chip: Chip): void => void at.set(box, [...(at.get(box) ?? []), chip])
  const rows = all.filter((item) => item.kind === 'row').sort((a, b) => BY_NAME.compare(a.name, b.name))
  for (const [box, chip] of podsOf(rows)) addChip(box, chip)
  for (const row of rows) {
    for (const [box, chip] of volumesOf(row)) addChip(box, chip)
  }
  const visibleNodes = nodes.slice(0, MAX_NODES)
  const boxes = [
    ...visibleNodes.map(({ name, ready, schedulable }) => ({
      key: `node/${name}`,
      name,
      notes: [...(ready ? [] : ['not ready']), ...(schedulable ? [] : ['cordoned'])],
    })),
    ...(at.has(NO_NODE.key) ? [NO_NODE] : []),
    NOT_ATTACHED,
  ]
  return {
    boxes: boxes.map((box) => ({ ...box, ...atMost(at.get(box.key) ?? []) })),
    moreNodes: nodes.length - visibleNodes.length,
  }
}

/** The order of names by number: node-10 comes after node-9. */
export const BY_NAME = new Intl.Collator('en', { numeric: true })

function atMost(chips: readonly Chip[]): Pick<Box, 'chips' | 'more'> {
  return { chips: chips.slice(0, MAX_CHIPS), more: Math.max(0, chips.length - MAX_CHIPS) }
}

/** Returns each pod once, even if several rows show it because it uses several claims. */
function podsOf(rows: readonly ClaimRow[]): Iterable<readonly [box: string, chip: Chip]> {
  const found = new Map<string, readonly [string, Chip]>()
  for (const { pods } of rows) {
    for (const { key, node, phase, deleting } of pods) {
      const chip: Chip = { key: `pod/${key}`, kind: 'pod', name: short(key), state: deleting ? 'deleting' : phase }
      found.set(key, [node === '' ? NO_NODE.key : `node/${node}`, chip])
    }
  }
  return [...found.values()].sort(([, a], [, b]) => BY_NAME.compare(a.name, b.name))
}

/** Returns the volume once for each of its nodes. The first key is always the same, so that a move is animated. */
function volumesOf({ id, name, volume, places }: ClaimRow): readonly (readonly [box: string, chip: Chip])[] {
  if (volume === undefined) return []
  const chip = (key: string, state: PlaceState | string): Chip => ({ key, kind: 'volume', name: short(name), state })
  if (places.length === 0) return [[NOT_ATTACHED.key, chip(id, volume.phase)]]
  return places.map(({ node, state }, index) => [`node/${node}`, chip(index === 0 ? id : `${id} ${node}`, state)])
}

/** Returns the name of an object. The namespace is left out if it is `default`. */
export function short(key: string): string {
  return key.replace(/^default\//, '')
}
