import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

const PLATFORM = /^(?= {4}- selector:$)/m

/**
 * The manifest for krew, with the checksums of the archives in a folder. A platform whose archive is not there is left
 * out: what one machine builds has that of its own architecture.
 */
export function krewManifest(template: string, folder: string): string {
  const [head = '', ...platforms] = template.split(PLATFORM)
  return [head, ...platforms.flatMap((platform) => withSum(platform, folder))].join('')
}

function withSum(platform: string, folder: string): readonly string[] {
  const [, uri] = /^ +uri: (\S+)$/m.exec(platform) ?? []
  if (uri === undefined) throw new Error(`a platform of the manifest for krew has no uri:\n${platform}`)
  const archive = join(folder, basename(uri))
  if (!existsSync(archive)) return []
  const sum = createHash('sha256').update(readFileSync(archive)).digest('hex')
  return [platform.replace(/( sha256: )SHA256$/m, `$1${sum}`)]
}
