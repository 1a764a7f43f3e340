import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf, systemCodeOf } from '@csi-sidecars/base'

/**
 * Returns the authorities in SSL_CERT_FILE and SSL_CERT_DIR, for a configuration without an authority. Undefined if
 * neither variable is set. Skips files that cannot be read, as Go does.
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

const EXPLANATIONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  EISDIR: 'is a directory',
  ENOTDIR: 'not a directory',
}

/** Returns the error of an unusable file, formatted as in Go: `open /etc/x: no such file or directory`. */
export function fileError(thrown: unknown, path: string, operation = 'open'): Error {
  const code = systemCodeOf(thrown)
  const text = (code === undefined ? undefined : EXPLANATIONS[code]) ?? messageOf(thrown)
  // A directory can be opened but not read, so the error of Go begins with `read`.
  return new Error(`${code === 'EISDIR' ? 'read' : operation} ${path}: ${text}`, { cause: thrown })
}
