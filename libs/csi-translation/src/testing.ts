import { readFileSync } from 'node:fs'
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  StorageClass,
  Volume,
  VolumeAttachment,
  VolumeAttachmentSource,
} from '@csi-sidecars/kube-types'

/** One line of a file of migration cases. Each package runs the directions that it owns, one test a case. */
export interface MigrationCase {
  readonly id: string
  readonly plugin: string
  /** The operation. */
  readonly direction: string
  readonly note?: string
  /** The operation's arguments by name; objects as on the wire. */
  readonly input: MigrationInput
  readonly output?: unknown
  readonly error?: { readonly code: string; readonly meaning: string }
}

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

/** What an operation came to, in a form that compares. */
export type MigrationOutcome = { readonly output: unknown } | { readonly error: unknown }

const SAMPLE = new URL('../testdata/migration-cases.json', import.meta.url)

/** The cases of the repository and of the file that MIGRATION_CASES names, as far as `owns` takes their direction. */
export function migrationCases(owns: (direction: string) => boolean): readonly MigrationCase[] {
  const more = process.env['MIGRATION_CASES']
  const cases = [SAMPLE, ...(more ? [more] : [])].flatMap((file) => JSON.parse(readFileSync(file, 'utf8')))
  return cases.filter((each: MigrationCase) => owns(each.direction))
}

export function expectedOutcome({ output, error }: MigrationCase): MigrationOutcome {
  return error === undefined ? { output: comparable(output) } : { error: error.code }
}

/** Runs an operation. A failure counts by its code alone; one without a code is a mistake and passes through. */
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
/** Maps from text to text: each of their values counts, an empty one too. */
const TEXT_MAPS = new Set(['annotations', 'capacity', 'labels', 'parameters', 'volumeAttributes'])

/**
 * The value without what the API treats as absent: nulls, empty lists and maps; and inside sources and
 * secret references also false, 0 and empty text.
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
