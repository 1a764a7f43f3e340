import { readFileSync } from 'node:fs'
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  StorageClass,
  Volume,
  VolumeAttachment,
  VolumeAttachmentSource,
} from '@csi-sidecars/kube-types'

/** One case in a file of migration cases. Each package tests the directions that it implements. */
export interface MigrationCase {
  readonly id: string
  readonly plugin: string
  /** The name of the operation that the case tests. */
  readonly direction: string
  readonly note?: string
  /** The arguments of the operation by name. Objects have their JSON form. */
  readonly input: MigrationInput
  readonly output?: unknown
  readonly error?: { readonly code: string; readonly meaning: string }
}

/** The arguments of all tested operations. Each case sets only the arguments of its operation. */
export interface MigrationInput {
  readonly pv?: PersistentVolume | null
  readonly volume?: Volume | null
  readonly podNamespace?: string
  readonly storageClass?: StorageClass
  readonly inTreePluginName?: string
  readonly driverName?: string
  readonly volumeHandle?: string
  readonly nodeID?: string
  readonly value?: string
  readonly zones?: readonly string[]
  readonly topologyKey?: string
  readonly attacherName?: string
  readonly volumeAttachments?: readonly VolumeAttachment[]
  readonly volumeAttachmentSource?: VolumeAttachmentSource
  readonly pvc?: PersistentVolumeClaim
}

/** The outcome of an operation, in a form that can be compared. */
export type MigrationOutcome = { readonly output: unknown } | { readonly error: unknown }

const SAMPLE = new URL('../../testdata/migration-cases.json', import.meta.url)

/** Returns the cases of the directions that `owns` accepts. `MIGRATION_CASES` may name a file with further cases. */
export function migrationCases(owns: (direction: string) => boolean): readonly MigrationCase[] {
  const more = process.env['MIGRATION_CASES']
  const cases = [SAMPLE, ...(more ? [more] : [])].flatMap((file) => JSON.parse(readFileSync(file, 'utf8')))
  return cases.filter((each: MigrationCase) => owns(each.direction))
}

export function expectedOutcome({ output, error }: MigrationCase): MigrationOutcome {
  return error === undefined ? { output: comparable(output) } : { error: error.code }
}

/** Runs an operation. Returns its result or the code of its error. An error without a code is a bug, and is thrown. */
export function outcomeOf(operation: () => unknown): MigrationOutcome {
  try {
    return { output: comparable(operation()) }
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown) return { error: thrown.code }
    throw thrown
  }
}

const SOURCES = new Set([
  'csi',
  'awsElasticBlockStore',
  'azureDisk',
  'azureFile',
  'cinder',
  'gcePersistentDisk',
  'portworxVolume',
  'vsphereVolume',
])
/** The fields that are maps of texts. An empty text in such a map is not absent. */
const TEXT_MAPS = new Set(['annotations', 'capacity', 'labels', 'parameters', 'volumeAttributes'])

/**
 * Returns the value without the parts that the API treats as absent: nulls, empty lists and empty maps. In sources and
 * secret references, false, 0 and empty texts are absent too.
 */
export function comparable(value: unknown, inSource = false): unknown {
  if (Array.isArray(value)) return value.map((item) => comparable(item, inSource))
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).flatMap(([key, field]): [string, unknown][] => {
    if (TEXT_MAPS.has(key)) return isEmpty(field) ? [] : [[key, field]]
    const within = inSource || SOURCES.has(key) || key.endsWith('SecretRef')
    const kept = comparable(field, within)
    const absent = isEmptyList(kept) || kept === null || kept === undefined || (within && !kept)
    return absent ? [] : [[key, kept]]
  })
  return Object.fromEntries(fields)
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || (typeof value === 'object' && Object.keys(value).length === 0)
}
