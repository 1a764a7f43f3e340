/** One request of a conformance case. At most one body field may be set, and that field decides the content type. */
export interface CaseStep {
  /** The method and the path, such as `POST /api/v1/persistentvolumes`. */
  readonly ask: string
  /** The body as JSON. */
  readonly body?: unknown
  readonly merge?: unknown
  readonly strategic?: unknown
  readonly json?: unknown
  /** A body that is sent unchanged, with `type` as its content type. */
  readonly text?: string
  readonly type?: string
  readonly accept?: string
  /** The sender: a user without rights, a wrong token, or no token. Default: the administrator. */
  readonly as?: 'alice' | 'wrongToken' | 'anonymous'
  /** True if an earlier step has granted the permission. A real API server applies it with a delay. */
  readonly granted?: boolean
  /** The name of the answer. Later steps refer to its fields in any text, for example by `@name.metadata.uid`. */
  readonly answerName?: string
  /** The number of frames to read from a watch before it is closed. */
  readonly frames?: number
  /** The dotted paths of the compared parts of the answer. Default: the whole answer. */
  readonly only?: readonly string[]
}

/** The requests of each case, by the name of the case. They run in order; then the created objects are removed. */
export type Cases = Readonly<Record<string, readonly CaseStep[]>>

/** The answer to a request, without values that change with each run. */
export interface CaseAnswer {
  readonly code: number
  readonly body: unknown
  readonly warnings?: readonly string[]
}

/** The answer to one request of a case, as a line of a recorded file contains it. `title` names the case. */
export interface RecordedAnswer {
  readonly title: string
  readonly asked: string
  readonly answer: CaseAnswer
}

type Rest = Partial<CaseStep>

export type BodyFields = Readonly<Record<string, unknown>>

export function get(path: string, rest: Rest = {}): CaseStep {
  return { ask: `GET ${path}`, ...rest }
}

export function post(path: string, body: unknown, rest: Rest = {}): CaseStep {
  return { ask: `POST ${path}`, body, ...rest }
}

export function putRequest(path: string, body: unknown, rest: Rest = {}): CaseStep {
  return { ask: `PUT ${path}`, body, ...rest }
}

export function remove(path: string, rest: Rest = {}): CaseStep {
  return { ask: `DELETE ${path}`, ...rest }
}

export function merge(path: string, patch: unknown, rest: Rest = {}): CaseStep {
  return { ask: `PATCH ${path}`, merge: patch, ...rest }
}

export function strategic(path: string, patch: unknown, rest: Rest = {}): CaseStep {
  return { ask: `PATCH ${path}`, strategic: patch, ...rest }
}

export function jsonPatch(path: string, patch: unknown, rest: Rest = {}): CaseStep {
  return { ask: `PATCH ${path}`, json: patch, ...rest }
}

export const DRIVER = 'csi.example.com'
export const CORE = '/api/v1'
export const STORAGE = '/apis/storage.k8s.io/v1'
export const RBAC = '/apis/rbac.authorization.k8s.io/v1'
export const IN_DEFAULT = `${CORE}/namespaces/default`

/** The Accept header that asks for a table, as `kubectl get` does. */
export const TABLE = 'application/json;as=Table;g=meta.k8s.io;v=v1'

export function volume(name: string, spec: BodyFields = {}, metadata: BodyFields = {}): BodyFields {
  const csi = { driver: DRIVER, volumeHandle: `handle-of-${name}` }
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name, ...metadata },
    spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], csi, ...spec },
  }
}

export function claim(name: string, spec: BodyFields = {}, metadata: BodyFields = {}): BodyFields {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, ...metadata },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
  }
}

export function attachment(name: string, spec: BodyFields = {}, rest: BodyFields = {}): BodyFields {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: { name },
    spec: { attacher: DRIVER, nodeName: 'node-1', source: { persistentVolumeName: 'pv-1' }, ...spec },
    ...rest,
  }
}

export function storageClass(name: string, rest: BodyFields = {}): BodyFields {
  return { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name }, provisioner: DRIVER, ...rest }
}

export function pod(name: string, spec: BodyFields = {}): BodyFields {
  const containers = [{ name: 'main', image: 'none' }]
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { containers, ...spec } }
}

export function configMap(name: string, rest: BodyFields = {}): BodyFields {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, ...rest }
}

/** The status of a bound claim of 1 GiB. */
export const BOUND_STATUS = { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' } }
