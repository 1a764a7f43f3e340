import type { Manager } from './object.ts'

export interface CapacitySettings extends Manager {
  readonly namespace: string
  readonly threads: number
  readonly pollMs: number
  /** Objects for classes with immediate binding, too. */
  readonly immediate: boolean
  /** The limits of writes. Undefined: no flag sets them. */
  readonly limits: { readonly qps: number; readonly burst: number } | undefined
}

const MANAGER = 'external-provisioner'
const LONGEST_LABEL = 63

/** The label of the objects of this process. On each node it has the name of the node, cut to the length of a label. */
export function managerName(node: string | undefined): string {
  if (node === undefined) return MANAGER
  const name = `${MANAGER}-${node}`
  if (name.length <= LONGEST_LABEL) return name
  const left = LONGEST_LABEL - HASH_LENGTH - 2 - node.length
  return left > 0 ? `${MANAGER.slice(0, left)}-${hashText(MANAGER)}-${node}` : `${MANAGER}-${hashText(name)}`
}

const HASH_LENGTH = 8

/** FNV-1a with 32 bits, in eight hexadecimal digits. */
function hashText(text: string): string {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0
  return hash.toString(16).padStart(HASH_LENGTH, '0')
}
