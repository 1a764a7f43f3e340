import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf, systemCodeOf } from '@csi-sidecars/base'

/**
 * The authorities that SSL_CERT_FILE and SSL_CERT_DIR name, for a configuration that names none of its own; undefined
 * when neither is set. Files that cannot be read are passed over, as Go does.
 */
export function environmentRoots(env: NodeJS.ProcessEnv): string[] | undefined {
  const file = env['SSL_CERT_FILE']
  const folders = env['SSL_CERT_DIR']
  if (!file && !folders) return undefined
  const paths = file ? [file] : []
  for (const folder of folders?.split(':') ?? []) paths.push(...filesIn(folder))
  return paths.flatMap((path) => {
    const text = readOrUndefined(path)
    return text?.includes('-----BEGIN CERTIFICATE-----') ? [text] : []
  })
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder).map((name) => join(folder, name))
  } catch {
    return []
  }
}

function readOrUndefined(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

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
