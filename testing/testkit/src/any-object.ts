import { canonical, type FieldType, type Schema, schemaNamed } from '@csi-sidecars/emulator'
import { type MessageReader, ProtobufReader } from '@csi-sidecars/kube-types'

/** Returns a random whole number that is not negative. */
type Next = () => number

/** The same object, decoded from JSON and from protobuf. */
export interface ReadFromBoth<W> {
  readonly json: W
  readonly protobuf: W
}

/** Returns a random object of a kind, with values that its field types allow. The same seed gives the same object. */
export function anyObject<W>(kind: string, message: MessageReader<W>, seed: number): ReadFromBoth<W> {
  const object = objectOf(schemaNamed(kind), numbersFrom(seed), DEPTH)
  const { value, bytes } = canonical(kind, withOneSource(object))
  return {
    json: JSON.parse(JSON.stringify(value), withoutNulls),
    protobuf: message(new ProtobufReader(bytes), bytes.length),
  }
}

/** The fields that the API server writes as null if they are empty. */
const NULLS: ReadonlySet<string> = new Set(['nodeSelectorTerms', 'secretNamespace'])

function withoutNulls(key: string, value: unknown): unknown {
  return NULLS.has(key) ? (value ?? undefined) : value
}

/** Returns a generator of pseudo-random numbers (Marsaglia's xorshift). */
function numbersFrom(seed: number): Next {
  // The multiplication spreads small seeds over all bits.
  let state = Math.imul(seed + 1, 0x9e3779b1) | 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state >>> 1
  }
}

type Fields = Readonly<Record<string, unknown>>

/** Keeps only one volume source of a PersistentVolume, because the API accepts only one. */
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
/** The names of all volume sources of a PersistentVolumeSpec. */
const ALL_SOURCES = new Set(
  schemaNamed('PersistentVolumeSpec')
    .fields.filter(({ numbers }) => numbers.length > 1)
    .map(({ name }) => name),
)

const DEPTH = 7
const MAX_ITEMS = 3

function objectOf(schema: Schema, next: Next, depth: number): Record<string, unknown> {
  const object: Record<string, unknown> = {}
  for (const { name, type } of schema.fields) {
    if (next() % 5 > 0) object[name] = partOf(type, next, depth - 1)
  }
  return object
}

function partOf(type: FieldType, next: Next, depth: number): unknown {
  switch (type.kind) {
    case 'object':
      return depth > 0 ? objectOf(type.schema, next, depth) : {}
    case 'list':
      return Array.from({ length: next() % MAX_ITEMS }, () => partOf(type.of, next, depth))
    case 'map': {
      const entries = Array.from({ length: next() % MAX_ITEMS }, () => [textOf(next), partOf(type.of, next, depth)])
      return Object.fromEntries(entries)
    }
    case 'scalar':
      return SCALARS[type.scalar](next)
  }
}

/** The name of the driver. A third of the random texts equal this name, so that many objects belong to the driver. */
const DRIVER = 'csi.example.com'
const TEXTS = ['', 'a', 'storage', DRIVER, 'Größe 😀', '__proto__', 'a/b', '1', 'x'.repeat(200), DRIVER, DRIVER, DRIVER]
const QUANTITIES = ['0', '1Gi', '1500m', '2Ti', '-1']
const MAX_INT32 = 2 ** 31 - 1

const SCALARS: Readonly<Record<Extract<FieldType, { kind: 'scalar' }>['scalar'], (next: Next) => unknown>> = {
  string: textOf,
  bool: (next) => next() % 2 === 0,
  int: (next) => ((next() % 2 === 0 ? 1 : -1) * next()) % MAX_INT32,
  long: (next) => (next() % 2 === 0 ? 1 : -1) * next() * 1000,
  quantity: (next) => QUANTITIES[next() % QUANTITIES.length],
  time: (next) => new Date((next() % 4_000_000_000) * 1000).toISOString().replace('.000', ''),
  microtime: (next) => new Date((next() % 4_000_000_000) * 1000).toISOString().replace('.000', '.000000'),
  bytes: (next) => Buffer.from(textOf(next)).toString('base64'),
  intOrString: (next) => (next() % 2 === 0 ? next() % MAX_INT32 : textOf(next)),
  any: (next) => ({ [textOf(next)]: {} }),
}

function textOf(next: Next): string {
  return TEXTS[next() % TEXTS.length] ?? ''
}
