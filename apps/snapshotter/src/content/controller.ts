import { messageOf } from '@csi-sidecars/base'
import {
  awaitedObjects,
  type Controller,
  failureLog,
  keysOf,
  type Lead,
  objectOf,
  objectsOf,
  type PendingTable,
  presentKey,
  type Source,
  type WorkSubject,
  wakesOn,
} from '@csi-sidecars/controller'
import { driverWhileLeading, snapshotClient } from '@csi-sidecars/csi'
import { recorderWhileLeading, textLines } from '@csi-sidecars/events'
import { clientWhileLeading } from '@csi-sidecars/kube-client'
import { SECRETS } from '@csi-sidecars/kube-types'
import { goQuote, UNQUOTED } from '@csi-sidecars/telemetry'
import type { Content } from '../caches/content.ts'
import type { KindCaches, SnapshotterParts } from '../parts.ts'
import { decide, handleToDelete, isDeletionStep } from './decide.ts'
import type { Kind } from './kinds.ts'
import { ContentMemory } from './memory.ts'
import { reconcile } from './reconcile.ts'
import { NotReadyError } from './record.ts'
import { type ContentDeps, type ContentWakeKind, viewOf } from './run.ts'
import { contentTrigger, wakesOnMember } from './triggers.ts'

/** Returns the controller of VolumeSnapshotContents or of VolumeGroupSnapshotContents. */
export function contentController(
  parts: SnapshotterParts,
  { kind, contents, classes }: KindCaches & { readonly kind: Kind },
  { assertLeading }: Pick<Lead, 'assertLeading'>,
): Controller<ContentWakeKind> {
  const { settings, client, clock, log } = parts
  const api = clientWhileLeading(client, assertLeading)
  const driver = driverWhileLeading(parts.driver, assertLeading, log)
  const memory = new ContentMemory()
  const deps: ContentDeps = {
    ...settings,
    kind,
    naming: kind.naming(settings),
    api,
    calls: snapshotClient(driver),
    driver,
    contents,
    classes: classes.store,
    project: kind.project(settings.driverName),
    memory,
    recorder: recorderWhileLeading(parts.recorder, assertLeading, textLines(log)),
    clock,
    log,
  }
  const isAtRest = (content: Content): boolean => decide(viewOf(content, deps)).length === 0
  /** Remembers the states of contents, and enqueues lost contents. Runs after `objectsOf`, which removes such keys. */
  const states: Source = (queue) =>
    contents.subscribe((event) => {
      if (event.type !== 'deleted') return memory.sawState(objectOf(event))
      const hasSnapshot = handleToDelete(viewOf(event.last ?? event.object, deps)) !== undefined
      if (memory.contentLost(event.object, event.last, hasSnapshot)) queue.add(event.object.key)
    })
  const awaited = awaitedObjects({ api, clock, resources: { secret: SECRETS } })
  return {
    name: kind.queue,
    workers: settings.workers,
    backoff: { baseMs: settings.retryStartMs, maxMs: settings.retryMaxMs },
    caches: [contents, classes],
    sources: [
      objectsOf(contents),
      states,
      keysOf(contents, contentTrigger(isAtRest), ({ status }) => status?.hasError === true),
    ],
    wakers: {
      class: {
        object: kind.classes.kind,
        reason: 'SnapshotClassMissing',
        source: wakesOn(classes, (event) => presentKey(event).map((name) => ({ kind: 'class', name }) as const)),
      },
      secret: { object: 'Secret', reason: 'SecretNotFound', source: awaited.secret },
      group: {
        object: 'group snapshot',
        reason: 'MemberNotReported',
        source: wakesOn(contents, wakesOnMember),
      },
    },
    reconcile: (key, run) => reconcile(key, deps, run),
    onFailure: (key, cause) => logFailure(key, cause, deps),
    traceSubject: (key) => ({
      operation: 'snapshot',
      names: { [`k8s.${kind.prefix}content.name`]: key },
      traceparent: contents.store.get(key)?.traceparent,
    }),
    pending: contentTable(deps),
    callsDriver: true,
  }
}

/** Logs a failed run. Does not log snapshots that are not ready. */
function logFailure(key: string, cause: unknown, { kind, log }: ContentDeps): void {
  if (cause instanceof NotReadyError) return
  const line = `could not sync ${kind.words.content} ${goQuote(key)}: ${messageOf(cause)}`
  failureLog(cause, log)?.error(undefined, line, UNQUOTED)
}

/** Lists the snapshot contents with pending work for reports. */
function contentTable(deps: ContentDeps): PendingTable {
  const { contents, memory } = deps
  return {
    sidecar: 'external-snapshotter',
    subject(key) {
      const content = contents.store.get(key)
      if (content !== undefined) return subjectOf(content, deps)
      const [lost] = memory.lostOf(key)
      return lost && { operation: 'delete-snapshot', object: targetOf(lost.content, deps) }
    },
  }
}

function subjectOf(content: Content, deps: ContentDeps): WorkSubject | undefined {
  const [first] = decide(viewOf(content, deps))
  if (first === undefined) return undefined
  const isDeletion = isDeletionStep(first)
  return {
    operation: isDeletion ? 'delete-snapshot' : 'create-snapshot',
    object: targetOf(content, deps),
    sinceSeconds: isDeletion ? content.deletedSeconds : content.createdSeconds,
    obstacle: obstacleOf(content, deps),
  }
}

/** Returns why a snapshot content has no result yet: its class is missing, or its snapshot is not ready. */
function obstacleOf({ status, className }: Content, { classes }: ContentDeps): WorkSubject['obstacle'] {
  if (className !== undefined && classes.get(className) === undefined) return 'SnapshotClassMissing'
  return status?.handle !== undefined && status.ready === false && !status.hasError ? 'SnapshotNotReady' : undefined
}

function targetOf({ key, uid }: Content, { kind }: ContentDeps): NonNullable<WorkSubject['object']> {
  return { kind: kind.resource.kind, namespace: '', name: key, uid }
}
