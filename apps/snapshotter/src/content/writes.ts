import { type FinalizedObject, removeFinalizer, updateLatest } from '@csi-sidecars/controller'
import { isMissing, type RequestPriority } from '@csi-sidecars/kube-client'
import { type KubeObject, type Patch, removeFinalizerPatch } from '@csi-sidecars/kube-types'
import type { Content } from '../caches/content.ts'
import { ContentGoneError, type ContentRun, explain } from './run.ts'

/** The number of attempts of a write in one run if other clients change the content at the same time. */
const CONFLICT_TRIES = 5

interface WriteOptions {
  readonly subresource?: 'status'
  readonly priority?: RequestPriority | undefined
}

interface Write extends WriteOptions {
  /** Returns the patch for the newest state of the snapshot content. Undefined if there is nothing to write. */
  readonly change: (latest: Content) => Patch | undefined
}

/** Writes a change and returns the changed content, without another call to the driver after a conflict. */
async function write(run: ContentRun, content: Content, { change, ...options }: Write): Promise<Content> {
  return await writing(run, content, {
    ...options,
    async perform(writes) {
      const result = await updateLatest({ ...writes, build: change })
      return result.kind === 'written' ? result.saved : writes.latest()
    },
  })
}

interface ContentWrites extends Omit<FinalizedObject<Content, Patch, Content>, 'hasFinalizer'> {
  latest(): Content
}

interface Writing<T> extends WriteOptions {
  /** Performs the writes. After a conflict, they are built again from the content that the API server has. */
  perform(writes: ContentWrites): Promise<T>
}

/** Throws the errors of the write with the text of the Go original, or ContentGoneError if the content is gone. */
async function writing<T>(run: ContentRun, content: Content, { perform, ...options }: Writing<T>): Promise<T> {
  const { api, kind, contents, project } = run.deps
  let latest = newest(run, content)
  let refusal: unknown
  try {
    return await perform({
      tries: CONFLICT_TRIES,
      latest: () => latest,
      async send(patch) {
        try {
          const request = { signal: run.signal, ...options }
          const saved = await api.patch<KubeObject>(kind.resource, { name: run.key }, patch, request)
          contents.storeOwnWrite(saved)
          return project(saved) ?? latest
        } catch (error) {
          refusal = error
          throw error
        }
      },
      async refresh() {
        latest = await readContent(run, content)
      },
    })
  } catch (error) {
    run.signal.throwIfAborted()
    // The read after a conflict has failed.
    if (error !== refusal) throw error
    if (isMissing(error)) throw new ContentGoneError(`${run.key} is gone`, { cause: error })
    return explain(run, `snapshot controller failed to update ${run.key} on API server`)(error)
  }
}

/** Returns the cached state of the snapshot content. Returns `content` if the cache has no object with this UID. */
export function newest({ key, deps }: ContentRun, content: Content): Content {
  const cached = deps.contents.store.get(key)
  return cached?.uid === content.uid ? cached : content
}

/** Reads the content from the API server, and updates the cache. Throws ContentGoneError if it was deleted or recreated. */
export async function readContent(run: ContentRun, content: Content): Promise<Content> {
  const { api, kind, contents, project } = run.deps
  try {
    const object = await api.get<KubeObject>(kind.resource, { name: run.key }, { signal: run.signal })
    const found = project(object)
    if (found?.uid === content.uid) {
      contents.storeOwnWrite(object)
      return found
    }
    // The watch reports the last state of the deleted content. The cache would forget it for a recreated content.
  } catch (error) {
    run.signal.throwIfAborted()
    if (!isMissing(error)) throw error
  }
  throw new ContentGoneError(`${run.key} is gone`)
}

/** Adds or removes the annotation that marks a running creation. */
export async function writeMark(run: ContentRun, content: Content, present: boolean): Promise<Content> {
  const { beingCreated } = run.deps.kind.names
  const change: Write['change'] = ({ uid, beingCreated: marked }) =>
    marked === present
      ? undefined
      : { kind: 'merge', body: { metadata: { uid, annotations: { [beingCreated]: present ? 'yes' : null } } } }
  return await write(run, content, { change })
}

/** Writes fields of the status. The patch carries the `resourceVersion`, as the fields depend on the whole status. */
export async function writeStatus(
  run: ContentRun,
  content: Content,
  {
    fields,
    priority,
  }: { readonly fields: (latest: Content) => object; readonly priority?: RequestPriority | undefined },
): Promise<Content> {
  const change: Write['change'] = (latest) => {
    const status = fields(latest)
    if (Object.keys(status).length === 0) return undefined
    const { uid, resourceVersion } = latest
    return { kind: 'merge', body: { metadata: { uid, resourceVersion }, status } }
  }
  return await write(run, content, { change, subresource: 'status', priority })
}

export async function removeOurFinalizer(run: ContentRun, content: Content): Promise<void> {
  const { finalizer } = run.deps.kind.names
  await writing(run, content, {
    perform: (writes) =>
      removeFinalizer({
        ...writes,
        hasFinalizer: ({ finalizers }) => finalizers.includes(finalizer),
        remove: ({ finalizers, uid }) => removeFinalizerPatch(finalizers, finalizer, uid),
      }),
  })
}
