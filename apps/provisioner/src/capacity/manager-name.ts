const MANAGER = 'external-provisioner'
const MAX_LABEL_LENGTH = 63
const HASH_LENGTH = 8

/** Returns the `managed-by` label, with the node's name for `--node-deployment`. A hash shortens long labels. */
export function managerName(node: string | undefined): string {
  if (node === undefined) return MANAGER
  const name = `${MANAGER}-${node}`
  if (name.length <= MAX_LABEL_LENGTH) return name
  const left = MAX_LABEL_LENGTH - HASH_LENGTH - 2 - node.length
  return left > 0 ? `${MANAGER.slice(0, left)}-${hashText(MANAGER)}-${node}` : `${MANAGER}-${hashText(name)}`
}

/** Returns the 32-bit FNV-1a hash in eight hexadecimal digits. */
function hashText(text: string): string {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0
  return hash.toString(16).padStart(HASH_LENGTH, '0')
}
