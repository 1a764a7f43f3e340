import { CancelledError, type Clock, systemClock } from '@csi-sidecars/base'
import { DriverFailure } from '@csi-sidecars/emulator'
import { EVENTS, NODES, PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, PODS } from '@csi-sidecars/kube-types'
import { silentLogger } from '@csi-sidecars/telemetry'
import { describe, expect, it } from '@jest/globals'
import { claimOf, inDefault, isRunning, podOf, startTestCluster, type TestCluster } from '../../testing/cluster.ts'
import type { Frame, Item } from '../view/wire.ts'
import { apply } from '../view/wire.ts'
import { PageModel } from './model.ts'

interface Watched extends AsyncDisposable {
  readonly model: PageModel
  /** The items of a page that has applied every frame. */
  readonly items: ReadonlyMap<string, Item>
  readonly lines: readonly string[]
  readonly frames: readonly Frame[]
  /** Resolves as soon as `holds` returns true. */
  until(holds: (items: ReadonlyMap<string, Item>) => boolean): Promise<void>
}

function watch({ cluster }: TestCluster, clock: Clock = systemClock): Watched {
  const items = new Map<string, Item>()
  const lines: string[] = []
  const frames: Frame[] = []
  const life = new AbortController()
  let onFrame = (): void => undefined
  const send = (frame: Frame): void => {
    frames.push(frame)
    apply(items, frame)
    if (frame.line !== undefined) lines.push(`${frame.line.who}: ${frame.line.text}`)
    onFrame()
  }
  const model = new PageModel({ ...cluster, clock, log: silentLogger, send })
  const running = model.run(life.signal)
  return {
    model,
    items,
    lines,
    frames,
    until: (holds) =>
      new Promise((resolve, reject) => {
        const cancel = systemClock.schedule(15_000, () =>
          reject(new Error([...lines, JSON.stringify([...items.values()])].join('\n'))),
        )
        onFrame = () => {
          if (!holds(items)) return
          cancel()
          resolve()
        }
        onFrame()
      }),
    async [Symbol.asyncDispose]() {
      life.abort(new CancelledError('the test is over'))
      await running
    },
  }
}

const ROW = 'claim/default/data'
const waitsOf = (items: ReadonlyMap<string, Item>, id = ROW): readonly string[] => {
  const item = items.get(id)
  return item?.kind === 'row' ? item.waits.map(({ level, who, object }) => `${level} ${who} ${object}`) : []
}
/** A clock that runs a thousand times as fast as the system clock. */
const FAST: Clock = {
  ...systemClock,
  now: () => 1000 * systemClock.now(),
  schedule: (ms, task) => systemClock.schedule(ms / 1000, task),
}
const quiet = { controllers: [], substitutes: [] } as const

describe('PageModel', () => {
  it('the model of the page follows a volume from its creation to its deletion', async () => {
    await using test = await startTestCluster()
    const { client } = test.cluster
    await using page = watch(test)
    await client.create(PERSISTENT_VOLUME_CLAIMS, claimOf('data'))
    await client.create(PODS, podOf('app', 'node-1', 'data'))
    await test.until(PODS, inDefault('app'), isRunning)
    await page.until((items) => waitsOf(items).length === 0 && JSON.stringify(items.get(ROW)).includes('"mounted"'))
    expect(page.items.get(ROW)).toMatchObject({
      claim: { phase: 'Bound' },
      pods: [{ key: 'default/app', phase: 'Running' }],
      places: [{ node: 'node-1', state: 'mounted', pods: ['app'] }],
    })
    expect(page.items.get(`call/${ROW}`)).toMatchObject({
      who: 'kubelet/node-1',
      method: 'NodePublishVolume',
      code: 'OK',
    })
    expect(page.items.get('call/csi-attacher')).toMatchObject({ method: 'ControllerPublishVolume', code: 'OK' })
    await client.delete(PODS, inDefault('app'))
    await client.delete(PERSISTENT_VOLUME_CLAIMS, inDefault('data'))
    await page.until((items) => ![...items.values()].some(({ kind }) => kind === 'row'))
    expect([...page.items.values()].filter((item) => item.kind === 'actor' && item.turns + item.open > 0)).toEqual([])
    expect([...page.items.keys()].filter((id) => id.startsWith('call/claim') || id.startsWith('event/volume'))).toEqual(
      [],
    )
    const reported = page.lines.join('\n')
    for (const line of [
      'you: claim data created: 1Gi of class fast',
      'csi-provisioner: CreateVolume',
      'persistent-volume: claim data Bound',
      'attach-detach: VolumeAttachment of',
      'csi-attacher: ControllerPublishVolume',
      'kubelet/node-1: NodeStageVolume',
      'kubelet/node-1: pod app Running',
      'kubelet/node-1: pod app gone',
      'csi-provisioner: DeleteVolume',
    ]) {
      expect(reported).toContain(line)
    }
  })

  it('the model of the page shows a pod that waits for a volume which is attached to another node', async () => {
    await using test = await startTestCluster()
    const { client } = test.cluster
    await client.create(PERSISTENT_VOLUME_CLAIMS, claimOf('data'))
    await client.create(PODS, podOf('app', 'node-1', 'data'))
    await test.until(PODS, inDefault('app'), isRunning)
    await using page = watch(test)
    await client.create(PODS, podOf('two', 'node-2', 'data'))
    await page.until((items) => waitsOf(items).includes('trouble attach-detach pod two'))
    await page.until((items) => JSON.stringify(items.get(ROW)).includes('Multi-Attach error'))
    expect(page.items.get('attach-detach')).toMatchObject({ state: 'fails', troubles: 1 })
    expect(page.items.get('event/attach-detach')).toMatchObject({ reason: 'FailedAttachVolume', object: 'Pod two' })
  })

  it('the model of the page shows a claim as stuck after two minutes without progress', async () => {
    await using test = await startTestCluster(quiet)
    await using page = watch(test, FAST)
    const stuckOf = (id: string): string =>
      JSON.stringify(page.items.get(id))
        .match(/"stuck":\w+/g)
        ?.join() ?? ''
    test.api.create(PERSISTENT_VOLUME_CLAIMS, claimOf('data'))
    await page.until((items) => items.has(ROW))
    expect(stuckOf(ROW)).toBe('"stuck":false')
    await page.until(() => stuckOf(ROW) === '"stuck":true')
  })

  it('the model of the page shows that the driver fails, and later that it works again', async () => {
    await using test = await startTestCluster()
    const { client } = test.cluster
    await using page = watch(test)
    test.driver.script('CreateVolume', () => {
      throw new DriverFailure('RESOURCE_EXHAUSTED', 'no room')
    })
    await client.create(PERSISTENT_VOLUME_CLAIMS, claimOf('data'))
    await page.until((items) => waitsOf(items).includes('trouble csi-provisioner claim data'))
    expect(page.items.get('driver')).toMatchObject({
      state: 'fails',
      why: 'CreateVolume fails with ResourceExhausted: no room (1 volume)',
    })
    expect(page.items.get(`call/${ROW}`)).toMatchObject({ code: 'ResourceExhausted', message: 'no room' })
    test.driver.script('CreateVolume', undefined)
    await page.until((items) => waitsOf(items).length === 0)
    await page.until((items) => JSON.stringify(items.get('driver')).includes('"idle"'))
  })

  it('the model of the page shows that the driver does not run, and later that it is back', async () => {
    await using test = await startTestCluster(quiet)
    await using page = watch(test)
    await test.driver.crash()
    await page.until((items) => JSON.stringify(items.get('driver')).includes('"away"'))
    await test.driver.restart()
    await page.until((items) => JSON.stringify(items.get('driver')).includes('"idle"'))
  })

  it('the model of the page starts with the existing objects, in one row for a claim and its volume', async () => {
    await using test = await startTestCluster(quiet)
    const { claims, volumes } = test.cluster.caches
    const { metadata } = test.api.create(PERSISTENT_VOLUME_CLAIMS, claimOf('data'))
    test.api.create(PERSISTENT_VOLUMES, {
      metadata: { name: 'pv-1' },
      spec: { capacity: { storage: '1Gi' }, claimRef: { namespace: 'default', name: 'data', uid: metadata?.uid } },
    })
    await test.untilCached(volumes, 'pv-1', () => true)
    await test.untilCached(claims, 'default/data', () => true)
    await using page = watch(test)
    const rows = [...page.items.values()].filter(({ kind }) => kind === 'row')
    expect(rows).toMatchObject([{ id: ROW, volume: { name: 'pv-1' }, claim: { phase: 'Pending' } }])
    expect(page.items.get('node/node-1')).toMatchObject({ ready: true, schedulable: true })
  })

  it('a volume whose claim was deleted gets a separate row on the page', async () => {
    await using test = await startTestCluster(quiet)
    const { caches } = test.cluster
    const { metadata } = test.api.create(PERSISTENT_VOLUME_CLAIMS, claimOf('data'))
    const claimRef = { namespace: 'default', name: 'data', uid: metadata?.uid }
    test.api.create(PERSISTENT_VOLUMES, {
      metadata: { name: 'pv-1' },
      spec: { capacity: { storage: '1Gi' }, claimRef },
    })
    await test.untilCached(caches.volumes, 'pv-1', () => true)
    await using page = watch(test)
    test.api.update(PERSISTENT_VOLUME_CLAIMS, inDefault('data'), (claim) => ({
      ...claim,
      metadata: { ...claim.metadata, finalizers: [] },
    }))
    test.api.delete(PERSISTENT_VOLUME_CLAIMS, inDefault('data'))
    await page.until((items) => items.has('volume/pv-1') && !items.has(ROW))
  })

  it('the model of the page shows nodes and events, and the count of a repeated event', async () => {
    await using test = await startTestCluster(quiet)
    await using page = watch(test)
    test.api.update(NODES, { name: 'node-2' }, (node) => ({ ...node, spec: { unschedulable: true } }))
    await page.until((items) => JSON.stringify(items.get('node/node-2')).includes('"schedulable":false'))
    const involvedObject = { kind: 'PersistentVolumeClaim', name: 'data', namespace: 'default' }
    const source = { component: 'attachdetach-controller' }
    test.api.create(PERSISTENT_VOLUME_CLAIMS, claimOf('data'))
    await page.until((items) => items.has(ROW))
    test.api.create(EVENTS, {
      metadata: inDefault('e'),
      involvedObject,
      source,
      type: 'Warning',
      reason: 'Bad',
      message: 'no',
    })
    await page.until((items) => items.has(`event/${ROW}`))
    test.api.update(EVENTS, inDefault('e'), (event) => ({ ...event, count: 2 }))
    await page.until((items) => JSON.stringify(items.get(`event/${ROW}`)).includes('"count":2'))
    expect(page.lines).toContain('attach-detach: PersistentVolumeClaim data: Bad: no')
  })

  it('with many rows, the page gets changed rows in batches, but time line entries at once', async () => {
    await using test = await startTestCluster(quiet)
    await using page = watch(test)
    for (let number = 1; number <= 102; number += 1) test.api.create(PERSISTENT_VOLUME_CLAIMS, claimOf(`c${number}`))
    await page.until((items) => items.has('claim/default/c102'))
    const frameOf = (text: string) => page.frames.find(({ line }) => line?.text.startsWith(text))
    expect(frameOf('claim c1 created')?.items?.[0]).toMatchObject({ kind: 'row' })
    expect(frameOf('claim c102 created')).not.toHaveProperty('items')
  })
})
