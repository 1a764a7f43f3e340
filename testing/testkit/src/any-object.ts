import { canonical, type FieldType, type Schema, schemaNamed } from '@csi-sidecars/emulator'
import { type MessageReader, ProtobufReader } from '@csi-sidecars/kube-types'

/** A random whole number from 0 on. */
type Next = () => number

/** One object as it is read from each of the two forms in which an API server sends it. */
export interface ReadFromBoth<W> {
  readonly json: W
  readonly protobuf: W
}

/**
 * Any object of a kind, with the fields that the kind has, and in them what their types allow; the same one for the same
 * seed.
 */
export function anyObject<W>(kind: string, message: MessageReader<W>, seed: number): ReadFromBoth<W> {
  const object = objectOf(schemaNamed(kind), numbersFrom(seed), DEPTH)
  const { value, bytes } = canonical(kind, withOneSource(object))
  return {
    json: JSON.parse(JSON.stringify(value), withoutNulls),
    protobuf: message(new ProtobufReader(bytes), bytes.length),
  }
}

/** JSON has null for these if they are empty. */
const NULLS: ReadonlySet<string> = new Set(['nodeSelectorTerms', 'secretNamespace'])

function withoutNulls(key: string, value: unknown): unknown {
  return NULLS.has(key) ? (value ?? undefined) : value
}

/** Numbers that look like chance: Marsaglia's xorshift. */
function numbersFrom(seed: number): Next {
  // Small seeds differ in all bits, too.
  let state = Math.imul(seed + 1, 0x9e3779b1) | 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state >>> 1
  }
}

type Fields = Readonly<Record<string, unknown>>

/** A PersistentVolume that the API accepts: with one source, which is CSI or one that CSI drivers have taken over. */
function withOneSource(object: Fields): Fields {
  const spec = object['spec']
  if (typeof spec !== 'object' || spec === null) return object
  const sources = SOURCES.filter((name) => name in spec)
  const others = Object.entries(spec).filter(([name]) => !ALL_SOURCES.has(name) || name === sources[0])
  return { ...object, spec: Object.fromEntries(others) }
}

const SOURCES = [
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'cinder',
  'azureFile',
  'vsphereVolume',
  'azureDisk',
  'portworxVolume',
  'csi',
]
/** The fields of a spec that have their own message. */
const ALL_SOURCES = new Set(
  schemaNamed('PersistentVolumeSpec')
    .fields.filter(({ numbers }) => numbers.length > 1)
    .map(({ name }) => name),
)

const DEPTH = 7
const MOST_ITEMS = 3

function objectOf(schema: Schema, next: Next, depth: number): Record<string, unknown> {
  const object: Record<string, unknown> = {}
  for (const { name, type } of schema.fields) {
    if (next() % 5 > 0) object[name] = partOf(type, next, depth - 1)
  }
  return object
}

function partOf(type: FieldType, next: Next, depth: number): unknown {
  switch (type.is) {
    case 'object':
      return depth > 0 ? objectOf(type.schema, next, depth) : {}
    case 'list':
      return Array.from({ length: next() % MOST_ITEMS }, () => partOf(type.of, next, depth))
    case 'map': {
      const entries = Array.from({ length: next() % MOST_ITEMS }, () => [textOf(next), partOf(type.of, next, depth)])
      return Object.fromEntries(entries)
    }
    case 'scalar':
      return SCALARS[type.scalar](next)
  }
}

/** Every third is a driver's name: a projection keeps almost nothing of other drivers' objects. */
const DRIVER = 'csi.example.com'
const TEXTS = ['', 'a', 'storage', DRIVER, 'Größe 😀', '__proto__', 'a/b', '1', 'x'.repeat(200), DRIVER, DRIVER, DRIVER]
const QUANTITIES = ['0', '1Gi', '1500m', '2Ti', '-1']
const MOST_INT = 2 ** 31 - 1

const SCALARS: Readonly<Record<Extract<FieldType, { is: 'scalar' }>['scalar'], (next: Next) => unknown>> = {
  string: textOf,
  bool: (next) => next() % 2 === 0,
  int: (next) => ((next() % 2 === 0 ? 1 : -1) * next()) % MOST_INT,
  long: (next) => (next() % 2 === 0 ? 1 : -1) * next() * 1000,
  quantity: (next) => QUANTITIES[next() % QUANTITIES.length],
  time: (next) => new Date((next() % 4_000_000_000) * 1000).toISOString().replace('.000', ''),
  microtime: (next) => new Date((next() % 4_000_000_000) * 1000).toISOString().replace('.000', '.000000'),
  bytes: (next) => Buffer.from(textOf(next)).toString('base64'),
  intOrString: (next) => (next() % 2 === 0 ? next() % MOST_INT : textOf(next)),
  any: (next) => ({ [textOf(next)]: {} }),
}

function textOf(next: Next): string {
  return TEXTS[next() % TEXTS.length] ?? ''
}
