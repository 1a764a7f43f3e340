import { open, readFile, rm, stat } from 'node:fs/promises'
import { messageOf } from '@csi-sidecars/base'
import { readYamlMapping } from '@csi-sidecars/kube-client'
import { type CSIDriver, isJsonObject } from '@csi-sidecars/kube-types'

/** Reads a CSIDriver from a YAML file. A file with other content throws an error of one line. */
export async function csiDriverOf(file: string | undefined): Promise<CSIDriver | undefined> {
  if (file === undefined) return undefined
  const refused = (why: string): Error => new Error(`--csidriver ${file}: ${why}`)
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw refused(messageOf(cause))
  })
  const object = mappingOf(text, refused)
  if (object['kind'] !== 'CSIDriver') throw refused(`it is a ${String(object['kind'])}, not a CSIDriver`)
  if (!isJsonObject(object['metadata']) || typeof object['metadata']['name'] !== 'string')
    throw refused('it has no name')
  return { metadata: { name: object['metadata']['name'] }, spec: isJsonObject(object['spec']) ? object['spec'] : {} }
}

/** Throws an error of one line if the CSIDriver belongs to another driver, because all pods would wait forever. */
export function refuseOther(csiDriver: CSIDriver | undefined, driver: string): void {
  const { name = driver } = csiDriver?.metadata ?? {}
  if (name !== driver) throw new Error(`--csidriver: it is the CSIDriver of ${name}, and the driver is ${driver}`)
}

function mappingOf(text: string, refused: (why: string) => Error): Readonly<Record<string, unknown>> {
  try {
    return readYamlMapping(text)
  } catch (error) {
    throw refused(messageOf(error))
  }
}

/** Checks that a report can be written, so that an error comes before the test, not minutes later. */
export async function checkReportFile(flag: string, file: string | undefined): Promise<void> {
  if (file === undefined) return
  try {
    const before = await stat(file).catch(() => undefined)
    await (await open(file, 'a')).close()
    if (before === undefined) await rm(file)
  } catch (error) {
    throw new Error(`--${flag} ${file} cannot be written: ${messageOf(error)}`, { cause: error })
  }
}
