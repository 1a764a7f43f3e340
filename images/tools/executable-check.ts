import { readFileSync } from 'node:fs'

/** Node looks for this text in itself: followed by 1, it runs what it carries instead of its arguments. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2:'
const ELF = '\x7fELF'
/** Where the header of an ELF file names its machine, and the machines that we know. */
const MACHINE_AT = 18
const MACHINES: Readonly<Record<number, string>> = { 62: 'x64', 183: 'arm64' }

/** Why a file is not an executable of ours for this architecture; undefined if it is. Works for foreign ones too. */
export function faultOf(file: string, architecture: string, bundle: string): string | undefined {
  const content = readFileSync(file)
  if (content.toString('latin1', 0, ELF.length) !== ELF) return 'it is not an ELF file'
  const machine = MACHINES[content.readUInt16LE(MACHINE_AT)]
  if (machine !== architecture) return `it is for ${machine ?? 'an unknown machine'}, not for ${architecture}`
  const fuse = content.indexOf(FUSE)
  if (fuse < 0 || content[fuse + FUSE.length] !== '1'.charCodeAt(0)) return 'it is Node.js with nothing to run'
  return content.includes(readFileSync(bundle)) ? undefined : `it does not hold ${bundle}`
}
