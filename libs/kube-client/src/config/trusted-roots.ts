import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

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
