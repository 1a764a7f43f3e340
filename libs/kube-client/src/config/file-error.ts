import { messageOf, systemCodeOf } from '@csi-sidecars/base'

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  EISDIR: 'is a directory',
  ENOTDIR: 'not a directory',
}

/** A file that could not be used, worded as the Go originals do: `open /etc/x: no such file or directory`. */
export function fileError(thrown: unknown, path: string, operation = 'open'): Error {
  const code = systemCodeOf(thrown)
  const words = (code === undefined ? undefined : WORDS[code]) ?? messageOf(thrown)
  // Opening a directory succeeds; only reading it fails.
  return new Error(`${code === 'EISDIR' ? 'read' : operation} ${path}: ${words}`, { cause: thrown })
}
