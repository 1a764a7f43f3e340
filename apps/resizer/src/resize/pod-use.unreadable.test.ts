import { FakeClock } from '@csi-sidecars/base/testing'
import { PODS } from '@csi-sidecars/kube-types'
import { type RecordingLogger, recordingLogger } from '@csi-sidecars/telemetry/testing'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { pod } from '../testing/builders.ts'
import { apiError, FakeCluster } from '../testing/fake-cluster.ts'
import { ClaimPodUse } from './pod-use.ts'

const never = new AbortController().signal

let cluster: FakeCluster
let clock: FakeClock
let unused: string[]
let use: ClaimPodUse
let log: RecordingLogger

beforeEach(() => {
  cluster = new FakeCluster(clock)
  clock = new FakeClock()
  unused = []
  log = recordingLogger()
  use = new ClaimPodUse({ api: cluster.client, onUnused: (claim) => void unused.push(claim), clock, log })
})

function run(namespace: string, name: string): void {
  const made = pod(name, 'data')
  cluster.store(PODS, { ...made, metadata: { ...made.metadata, namespace } })
}

const uses = async (claim: string): Promise<boolean | undefined> => (await use.podsOf(claim, never))?.uses(claim)

/** Starts a pod in each of `count` namespaces, and asks whether the claim of each pod is in use. */
async function askAbout(count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    run(`ns-${index}`, 'web')
    await uses(`ns-${index}/data`)
  }
  await clock.settle()
}

describe('unreadable pods', () => {
  const forbid = (verbs: readonly string[]) => {
    cluster.before = ({ verb }) => {
      if (verbs.includes(verb)) throw apiError(403, 'Forbidden', 'pods is forbidden')
    }
  }

  it('`ClaimPodUse` returns undefined and logs no warning if pods cannot be read', async () => {
    forbid(['list', 'watch'])
    for (const claim of ['ns/data', 'ns/data', 'other/data']) expect(await uses(claim)).toBeUndefined()
    expect(log.lines.filter(({ level }) => level !== 2)).toEqual([])
    await clock.settle()
    expect(clock.pending).toBe(0)
  })

  it('without the permission to watch pods, `ClaimPodUse` lists the pods at each call', async () => {
    forbid(['watch'])
    run('ns', 'web')
    expect(await uses('ns/data')).toBe(true)
    await clock.settle()
    cluster.delete(PODS, { namespace: 'ns', name: 'web' })
    expect(await uses('ns/other')).toBe(false)
    await clock.settle()
    // The list for `ns/other` also shows that no pod uses `ns/data`.
    expect(unused).toContain('ns/data')
  })

  it('`ClaimPodUse` logs at level 2 that pods could not be read', async () => {
    cluster.before = () => {
      throw apiError(500, 'InternalError', 'etcd is away')
    }
    await uses('ns/data')
    expect(log.lines.at(-1)).toMatchObject({
      level: 2,
      message: 'Pods could not be read, the driver decides',
      pairs: { namespace: 'ns', err: { message: 'etcd is away' } },
    })
  })

  it('after a temporary failure of the list of all pods, `ClaimPodUse` lists and watches all pods', async () => {
    let away = true
    cluster.before = ({ name }) => {
      if (name === '' && away) throw apiError(500, 'InternalError', 'etcd is away')
    }
    await askAbout(20)
    expect(cluster.watches('pods')).toBe(20)
    away = false
    await askAbout(21)
    expect(cluster.watches('pods')).toBe(1)
  })
})
