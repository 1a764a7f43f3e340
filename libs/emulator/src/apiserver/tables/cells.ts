import { at, type Json, type KubeObject, listAt, objectAt, textAt } from '../schema/json.ts'
import { ageOf } from './age.ts'

export interface Column {
  readonly name: string
  readonly type: 'string' | 'integer' | 'boolean' | 'date'
  readonly format: '' | 'name'
  /** 1 is shown only in wide tables. */
  readonly priority: 0 | 1
  readonly cell: (object: KubeObject, now: number) => Json
}

type Cell = Column['cell']
type Look = Partial<Pick<Column, 'type' | 'format' | 'priority'>>

export const WIDE: Look = { priority: 1 }

export function column(name: string, cell: Cell, look: Look = {}): Column {
  return { name, type: 'string', format: '', priority: 0, cell, ...look }
}

/** The text at a path, or the text for an absent value. */
export function text(path: string, otherwise = ''): Cell {
  const steps = path.split('.')
  return (object) => textAt(object, ...steps) ?? otherwise
}

export const NAME = column('Name', (object) => object.metadata.name ?? '', { format: 'name' })
export const AGE = column('Age', (object, now) => ageOf(object.metadata.creationTimestamp, now))
export const CREATED = column('Created At', (object) => object.metadata.creationTimestamp ?? null, { type: 'date' })

const SHORT_MODES: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
}

export function modes(from: readonly Json[]): string {
  const given = new Set(from)
  return Object.keys(SHORT_MODES)
    .filter((mode) => given.has(mode))
    .map((mode) => SHORT_MODES[mode])
    .join(',')
}

export function phase(object: KubeObject): string {
  if (object.metadata.deletionTimestamp !== undefined) return 'Terminating'
  return textAt(object, 'status', 'phase') ?? ''
}

/** Of the claim's volume, once there is one. */
export function ofVolume(cell: (object: KubeObject) => Json): Cell {
  return (object) => ((textAt(object, 'spec', 'volumeName') ?? '') === '' ? '' : cell(object))
}

export function nodeState(object: KubeObject): string {
  const ready = listAt(object, 'status', 'conditions').find((condition) => textAt(condition, 'type') === 'Ready')
  const state = ready === undefined ? 'Unknown' : textAt(ready, 'status') === 'True' ? 'Ready' : 'NotReady'
  return at(object, 'spec', 'unschedulable') === true ? `${state},SchedulingDisabled` : state
}

const ROLE_LABEL = 'node-role.kubernetes.io/'

export function nodeRoles(object: KubeObject): string {
  const labels = Object.keys(object.metadata.labels ?? {}).filter((label) => label.startsWith(ROLE_LABEL))
  return (
    labels
      .map((label) => label.slice(ROLE_LABEL.length))
      .sort()
      .join(',') || '<none>'
  )
}

export function nodeAddress(type: string): Cell {
  return (object) => {
    const found = listAt(object, 'status', 'addresses').find((address) => textAt(address, 'type') === type)
    return textAt(found, 'address') ?? '<none>'
  }
}

export function kernel(object: KubeObject): string {
  const version = textAt(object, 'status', 'nodeInfo', 'kernelVersion') || '<unknown>'
  const architecture = textAt(object, 'status', 'nodeInfo', 'architecture') ?? ''
  return architecture === '' ? version : `${version} (${architecture})`
}

export function nodeInfo(field: string): Cell {
  return (object) => textAt(object, 'status', 'nodeInfo', field) || '<unknown>'
}

export function count(...fields: readonly string[]): Cell {
  return (object) => fields.reduce((sum, field) => sum + Object.keys(objectAt(object, field) ?? {}).length, 0)
}

export function defaultName(object: KubeObject): string {
  const marked = object.metadata.annotations?.['storageclass.kubernetes.io/is-default-class'] === 'true'
  return `${object.metadata.name ?? ''}${marked ? ' (default)' : ''}`
}

function subjects(kind: string): Cell {
  return (object) =>
    listAt(object, 'subjects')
      .filter((subject) => textAt(subject, 'kind') === kind)
      .map((subject) => {
        const name = textAt(subject, 'name') ?? ''
        return kind === 'ServiceAccount' ? `${textAt(subject, 'namespace') ?? ''}/${name}` : name
      })
      .join(', ')
}

export const BINDING: readonly Column[] = [
  NAME,
  column('Role', (object) => `${textAt(object, 'roleRef', 'kind')}/${textAt(object, 'roleRef', 'name')}`),
  AGE,
  column('Users', subjects('User'), WIDE),
  column('Groups', subjects('Group'), WIDE),
  column('ServiceAccounts', subjects('ServiceAccount'), WIDE),
]

export function firstSeen(object: KubeObject, now: number): string {
  return ageOf(at(object, 'firstTimestamp') ?? at(object, 'eventTime'), now)
}

export function lastSeen(object: KubeObject, now: number): string {
  const series = at(object, 'series', 'lastObservedTime')
  if (series !== undefined) return ageOf(series, now)
  const last = at(object, 'lastTimestamp') ?? null
  return last === null ? firstSeen(object, now) : ageOf(last, now)
}

export function involved(object: KubeObject): string {
  const kind = (textAt(object, 'involvedObject', 'kind') ?? '').toLowerCase()
  const name = textAt(object, 'involvedObject', 'name') ?? ''
  return name === '' ? kind : `${kind}/${name}`
}

export function source(object: KubeObject): string {
  const component = textAt(object, 'source', 'component') || textAt(object, 'reportingComponent') || ''
  const host = textAt(object, 'source', 'host') || textAt(object, 'reportingInstance') || ''
  return host === '' ? component : `${component}, ${host}`
}

export function eventCount(object: KubeObject): Json {
  return at(object, 'series', 'count') ?? at(object, 'count') ?? 1
}

export function flag(field: string): Column['cell'] {
  return (object) => at(object, 'spec', field) === true
}

export function audiences(object: KubeObject): string {
  if (at(object, 'spec', 'tokenRequests') === undefined) return '<unset>'
  return listAt(object, 'spec', 'tokenRequests')
    .map((request) => textAt(request, 'audience'))
    .join(',')
}

export const BOOLEAN: Look = { type: 'boolean' }
