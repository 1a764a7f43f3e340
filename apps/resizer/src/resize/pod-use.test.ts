import { CancelledError } from '@csi-sidecars/base'
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
  clock = new FakeClock()
  cluster = new FakeCluster(clock)
  unused = []
  log = recordingLogger()
  use = new ClaimPodUse({ api: cluster.client, onUnused: (claim) => void unused.push(claim), clock, log })
})

function run(namespace: string, name: string, claimName = 'data'): void {
  const made = pod(name, claimName)
  cluster.store(PODS, { ...made, metadata: { ...made.metadata, namespace } })
}

function end(namespace: string, name: string): Promise<void> {
  cluster.delete(PODS, { namespace, name })
  return clock.settle()
}

const uses = async (claim: string): Promise<boolean | undefined> => (await use.podsOf(claim, never))?.uses(claim)

/** Returns the recorded requests to the API server, and clears the record. */
const takeRequests = (): readonly string[] =>
  cluster.requests.splice(0).map(({ verb, name }) => `${verb} ${name || 'all'}`)

/** Starts a pod in each of `count` namespaces, and asks whether the claim of each pod is in use. */
async function askAbout(count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    run(`ns-${index}`, 'web')
    await clock.settle()
    expect(await uses(`ns-${index}/data`)).toBe(true)
  }
  await clock.settle()
}

describe('one namespace', () => {
  it('`ClaimPodUse` sends only one watch for all claims of a namespace', async () => {
    for (let index = 0; index < 50; index += 1) run('ns', `web-${index}`, `data-${index}`)
    const claims = Array.from({ length: 60 }, (_, index) => `ns/data-${index}`)
    const answers = await Promise.all(claims.map(uses))
    expect(answers.filter((answer) => answer === true)).toHaveLength(50)
    for (const claim of claims) await uses(claim)
    expect(takeRequests()).toEqual(['watch ns'])
  })

  it('`ClaimPodUse` watches the pods of a namespace until all its claims are released', async () => {
    run('ns', 'web')
    await uses('ns/data')
    await uses('ns/other')
    use.release('ns/data')
    await clock.settle()
    expect(cluster.watches('pods')).toBe(1)
    use.release('ns/other')
    await clock.settle()
    expect(cluster.watches('pods')).toBe(0)
    expect(clock.pending).toBe(0)
  })

  it('`ClaimPodUse` reports a claim as unused when its last pod ends', async () => {
    run('ns', 'a')
    run('ns', 'b')
    await uses('ns/data')
    await end('ns', 'a')
    expect(unused).toEqual([])
    await end('ns', 'b')
    expect(unused).toEqual(['ns/data'])
  })

  it('`ClaimPodUse` does not report a claim as unused if a second pod uses it before the first pod ends', async () => {
    run('ns', 'a')
    await uses('ns/data')
    run('ns', 'b')
    await end('ns', 'a')
    expect(unused).toEqual([])
    run('ns', 'b', 'other')
    await clock.settle()
    expect(unused).toEqual(['ns/data'])
  })

  it('`ClaimPodUse` reports claims of pods that end while its watch is broken', async () => {
    run('ns', 'a')
    await uses('ns/data')
    await clock.settle()
    run('ns', 'b')
    await clock.settle()
    cluster.breakWatches()
    await end('ns', 'a')
    await end('ns', 'b')
    await clock.advance(2_000)
    expect(unused).toEqual(['ns/data'])
  })

  it('`ClaimPodUse` reports claims of ended pods if the version of its watch is too old', async () => {
    run('ns', 'a')
    await uses('ns/data')
    await clock.settle()
    let refused = false
    cluster.before = ({ verb }) => {
      if (verb !== 'watch' || refused) return
      refused = true
      throw apiError(410, 'Expired', 'too old resource version')
    }
    run('ns', 'b')
    await clock.settle()
    cluster.breakWatches()
    await end('ns', 'a')
    await end('ns', 'b')
    await clock.advance(10_000)
    expect(unused).toEqual(['ns/data'])
  })

  it('`ClaimPodUse` returns undefined if the list of pods fails, and lists again at the next call', async () => {
    cluster.before = () => {
      throw apiError(500, 'InternalError', 'etcd is away')
    }
    expect(await Promise.all([uses('ns/data'), uses('ns/other')])).toEqual([undefined, undefined])
    cluster.before = () => undefined
    run('ns', 'web')
    expect(await uses('ns/data')).toBe(true)
    expect(takeRequests()).toEqual(['watch ns', 'watch ns'])
  })

  it('`ClaimPodUse` ends the watch of a namespace even if an earlier list of its pods failed', async () => {
    cluster.before = () => {
      throw apiError(500, 'InternalError', 'etcd is away')
    }
    await uses('ns/data')
    cluster.before = () => undefined
    await uses('ns/other')
    use.release('ns/other')
    await clock.settle()
    expect(cluster.watches('pods')).toBe(0)
  })

  it('`ClaimPodUse` rejects at once if the signal of the caller is aborted', async () => {
    const aborted = AbortSignal.abort(new CancelledError('enough'))
    await expect(use.podsOf('ns/data', aborted)).rejects.toThrow('enough')
  })
})

describe('many namespaces', () => {
  it('`ClaimPodUse` sends one watch for each of the first 19 namespaces', async () => {
    await askAbout(19)
    expect(cluster.watches('pods')).toBe(19)
    expect(takeRequests().filter((request) => request.endsWith('all'))).toEqual([])
  })

  it('`ClaimPodUse` sends one watch of all pods from the 20th namespace on', async () => {
    await askAbout(19)
    takeRequests()
    await askAbout(40)
    expect(takeRequests()).toEqual(['watch all'])
    expect(cluster.watches('pods')).toBe(1)
    await end('ns-3', 'web')
    expect(unused).toEqual(['ns-3/data'])
  })

  it('`ClaimPodUse` learns from the list of all pods that a pod has ended after its watch broke', async () => {
    await askAbout(19)
    // The watch of the namespace breaks before the pod ends, so it does not deliver that event.
    cluster.before = ({ verb, name }) => {
      if (verb === 'watch' && name === 'ns-3') throw apiError(500, 'InternalError', 'etcd is away')
    }
    cluster.breakWatches()
    await end('ns-3', 'web')
    expect(unused).toEqual([])
    run('ns-x', 'web')
    expect(await uses('ns-x/data')).toBe(true)
    await clock.settle()
    expect(unused).toEqual(['ns-3/data'])
  })

  it('`ClaimPodUse` uses the watches of single namespaces until it has listed all pods', async () => {
    await askAbout(19)
    const listed = Promise.withResolvers<void>()
    cluster.before = ({ verb, name }) => (verb === 'watch' && name === '' ? listed.promise : undefined)
    run('ns-x', 'web')
    const asked = uses('ns-x/data')
    expect(await uses('ns-3/data')).toBe(true)
    const givenUp = new AbortController()
    const refused = use.podsOf('ns-y/data', givenUp.signal)
    givenUp.abort(new CancelledError('enough'))
    await expect(refused).rejects.toThrow('enough')
    expect(takeRequests().filter((request) => request === 'watch ns-x' || request === 'watch ns-y')).toEqual([])
    listed.resolve()
    expect(await asked).toBe(true)
    await clock.settle()
    expect(cluster.watches('pods')).toBe(1)
    takeRequests()
    expect([await uses('ns-3/data'), await uses('ns-x/data')]).toEqual([true, true])
    expect(takeRequests()).toEqual([])
  })

  it('`ClaimPodUse` watches single namespaces again if it is closed while it lists all pods', async () => {
    await askAbout(19)
    const listed = Promise.withResolvers<void>()
    cluster.before = ({ verb, name }) => (verb === 'watch' && name === '' ? listed.promise : undefined)
    run('ns-x', 'web')
    const asked = uses('ns-x/data').catch(() => undefined)
    await clock.settle()
    use.close()
    listed.resolve()
    await asked
    await clock.settle()
    use.close()
    await clock.settle()
    takeRequests()
    expect(await uses('ns-1/data')).toBe(true)
    expect(takeRequests()).toEqual(['watch ns-1'])
  })

  it('`ClaimPodUse` sends a watch for each namespace if the role does not allow listing all pods', async () => {
    cluster.before = ({ name }) => {
      if (name === '') throw apiError(403, 'Forbidden', 'pods is forbidden')
    }
    await askAbout(25)
    expect(cluster.watches('pods')).toBe(25)
    expect(takeRequests().filter((request) => request.endsWith('all'))).toEqual(['watch all', 'list all'])
  })

  it('after the watch of all pods has ended, `ClaimPodUse` watches single namespaces again', async () => {
    await askAbout(25)
    for (let index = 1; index < 25; index += 1) use.release(`ns-${index}/data`)
    use.release('ns-0/unused')
    await clock.settle()
    expect(cluster.watches('pods')).toBe(1)
    use.release('ns-0/data')
    await clock.settle()
    expect(cluster.watches('pods')).toBe(0)
    takeRequests()
    expect(await uses('ns-1/data')).toBe(true)
    expect(takeRequests()).toEqual(['watch ns-1'])
  })

  it('`ClaimPodUse` ends all watches on `close`', async () => {
    await askAbout(5)
    use.close()
    await clock.settle()
    expect(cluster.watches('pods')).toBe(0)
    expect(clock.pending).toBe(0)
  })
})
