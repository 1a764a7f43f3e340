import { messageOf } from '@csi-sidecars/base'
import {
  awaitedObjects,
  type Controller,
  enqueueOn,
  failureLog,
  forgetDeleted,
  type Lead,
  presentKey,
  wakeOn,
} from '@csi-sidecars/controller'
import { driverWhileLeading, snapshotClient } from '@csi-sidecars/csi'
import { recorderWhileLeading, textLines } from '@csi-sidecars/events'
import { clientWhileLeading } from '@csi-sidecars/kube-client'
import { SECRETS } from '@csi-sidecars/kube-types'
import { goQuote, UNQUOTED } from '@csi-sidecars/telemetry'
import type { Content } from '../caches/content.ts'
import type { KindCaches, SnapshotterParts } from '../parts.ts'
import { decide, handleToDelete } from './decide.ts'
import { NotReadyError } from './failure.ts'
import type { ContentKind } from './kinds.ts'
import type { ContentMemory } from './memory.ts'
import { observe } from './observe.ts'
import { contentTable } from './pending.ts'
import { reconcile } from './reconcile.ts'
import type { ContentDeps, ContentWakeKind } from './run.ts'
import { contentTrigger, recordLostContents, wakesOnHandles } from './triggers.ts'

/** Returns the controller of VolumeSnapshotContents or of VolumeGroupSnapshotContents. */
export function contentController(
  term: SnapshotterParts,
  { kind, contents, classes, memory }: KindCaches & { readonly kind: ContentKind; readonly memory: ContentMemory },
  { assertLeading }: Pick<Lead, 'assertLeading'>,
): Controller<ContentWakeKind> {
  const { settings, client, clock, log } = term
  const api = clientWhileLeading(client, assertLeading)
  const driver = driverWhileLeading(term.driver, assertLeading, log)
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
    recorder: recorderWhileLeading(term.recorder, assertLeading, textLines(log)),
    clock,
    log,
  }
  const isAtRest = (content: Content): boolean => decide(observe(content, deps)).length === 0
  const hasSnapshotToDelete = (content: Content): boolean => handleToDelete(observe(content, deps)) !== undefined
  const awaited = awaitedObjects({ api, clock, resources: { secret: SECRETS, snapshot: kind.snapshots } })
  return {
    name: kind.queue,
    workers: settings.workers,
    backoff: { baseMs: settings.retryStartMs, maxMs: settings.retryMaxMs },
    caches: [contents, classes],
    sources: [
      forgetDeleted(contents),
      recordLostContents(contents, memory, hasSnapshotToDelete),
      enqueueOn(contents, contentTrigger(isAtRest), ({ status }) => status?.hasError === true),
    ],
    wakers: {
      class: {
        object: kind.classes.kind,
        reason: 'SnapshotClassMissing',
        source: wakeOn(classes, (event) => presentKey(event).map((name) => ({ kind: 'class', name }) as const)),
      },
      secret: { object: 'Secret', reason: 'SecretNotFound', source: awaited.secret },
      snapshot: { object: kind.snapshots.kind, reason: 'SnapshotNotUsable', source: awaited.snapshot },
      handles: {
        object: `the handles of ${kind.resource.kind}`,
        reason: 'MemberNotReported',
        source: wakeOn(contents, wakesOnHandles),
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

/** A snapshot that is not ready is no failure: its run is only repeated. */
function logFailure(key: string, cause: unknown, { kind, log }: ContentDeps): void {
  if (cause instanceof NotReadyError) return
  const line = `could not sync ${kind.texts.content} ${goQuote(key)}: ${messageOf(cause)}`
  failureLog(cause, log)?.error(undefined, line, UNQUOTED)
}
