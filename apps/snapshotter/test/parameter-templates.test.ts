import { CODES, PARAMETER_VALUES } from '@csi-sidecars/csi'
import type { CreateSnapshotRequest } from '@csi-sidecars/csi-proto'
import {
  VOLUME_GROUP_SNAPSHOT_CLASSES,
  VOLUME_GROUP_SNAPSHOT_CONTENTS,
  VOLUME_GROUP_SNAPSHOTS,
  VOLUME_SNAPSHOT_CLASSES,
  VOLUME_SNAPSHOT_CONTENTS,
  VOLUME_SNAPSHOTS,
  type VolumeSnapshot,
} from '@csi-sidecars/kube-types'
import type { InFlight } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import { SNAPSHOT_NAMES } from '../src/caches/names.ts'
import { Fixture, type FixtureOptions, failing } from '../src/testing/fixture.ts'
import { groupClass, snapshotClass, UID, vgsc, vsc } from '../src/testing/objects.ts'

/** Returns the text with `$` in place of `%`. */
const t = (text: string): string => text.replaceAll('%', '$')
const TEAM = "volumesnapshot.labels['team']:-none"
const TAG = t(`%{${TEAM}}`)

type Metadata = Readonly<Record<'labels' | 'annotations', Readonly<Record<string, string>>>>

function snapshot(metadata: Partial<Metadata> & { uid?: string } = {}): VolumeSnapshot {
  const head = { apiVersion: 'snapshot.storage.k8s.io/v1', kind: 'VolumeSnapshot' }
  const object: VolumeSnapshot = {
    ...head,
    spec: { source: {} },
    metadata: { namespace: 'default', name: 's', uid: UID, ...metadata },
  }
  return object
}

/** Returns a cluster with a class, its content and VolumeSnapshot `s`, before a snapshotter runs. */
function fixtureWith(
  parameters: Record<string, string>,
  metadata?: Parameters<typeof snapshot>[0],
  options: Pick<FixtureOptions, 'settings'> = { settings: { parameterTemplates: true } },
): Fixture {
  return new Fixture({
    ...options,
    objects: [
      [VOLUME_SNAPSHOT_CLASSES, snapshotClass('k', { parameters })],
      [VOLUME_SNAPSHOTS, snapshot(metadata)],
      [VOLUME_SNAPSHOT_CONTENTS, vsc()],
    ],
  })
}

const setTeam = (fixture: Fixture, team: string | null): void => {
  fixture.api.edit(VOLUME_SNAPSHOTS, { namespace: 'default', name: 's' }, { metadata: { labels: { team } } })
}
const contentOf = (fixture: Fixture) => fixture.find(VOLUME_SNAPSHOT_CONTENTS, { name: 'c' })
const recordOf = (fixture: Fixture): string | undefined => contentOf(fixture)?.metadata?.annotations?.[PARAMETER_VALUES]
const errorOf = (fixture: Fixture): string => contentOf(fixture)?.status?.error?.message ?? ''
const sent = (fixture: Fixture): readonly unknown[] =>
  fixture.takeCalls('CreateSnapshot').map(({ request }) => (request as CreateSnapshotRequest).parameters)

/** Answers requests until a request with this label is in flight. Throws if no such request comes. */
async function reach(fixture: Fixture, label: string): Promise<InFlight> {
  for (let left = 40; left > 0; left -= 1) {
    fixture.running.deliver()
    await fixture.clock.settle()
    const flight = fixture.running.flight(label)
    if (flight !== undefined) return flight
    fixture.running.gate.inFlight[0]?.answer()
  }
  throw new Error(`there was no ${label}`)
}

describe('templates in the parameters of a snapshot class', () => {
  it('CreateSnapshot gets names, labels and annotations of the VolumeSnapshot', async () => {
    const fixture = fixtureWith(
      {
        plain: 'ssd',
        names: t('%{volumesnapshot.namespace}/%{volumesnapshot.name}/%{volumesnapshotcontent.name}'),
        tag: t(`team=%{${TEAM}}`),
        owner: t("%{volumesnapshot.annotations['example.com/owner']|max(3)}"),
      },
      { labels: { team: 'storage' }, annotations: { 'example.com/owner': 'annabel' } },
    )
    await fixture.start()
    expect(sent(fixture)).toEqual([{ plain: 'ssd', names: 'default/s/c', tag: 'team=storage', owner: 'ann' }])
    expect(contentOf(fixture)?.status?.readyToUse).toBe(true)
  })

  it('one write adds the values and the annotation being-created before the call', async () => {
    const fixture = fixtureWith({ tag: TAG }, { labels: { team: 'storage' } })
    await fixture.startStepwise()
    await reach(fixture, 'call CreateSnapshot')
    expect(fixture.takeWire()).toEqual(['addBeingCreated', 'CreateSnapshot'])
    expect(contentOf(fixture)?.metadata?.annotations?.[SNAPSHOT_NAMES.beingCreated]).toBe('yes')
    expect(JSON.parse(recordOf(fixture) ?? '')).toEqual({ uid: UID, values: { [TEAM]: 'storage' } })
    fixture.kill()
  })

  it('names need neither a read of the VolumeSnapshot nor a record', async () => {
    const fixture = fixtureWith({ names: t('%{volumesnapshot.name}') })
    fixture.api.delete(VOLUME_SNAPSHOTS, { namespace: 'default', name: 's' })
    await fixture.start()
    expect([sent(fixture), recordOf(fixture)]).toEqual([[{ names: 's' }], undefined])
  })

  it('without --parameter-templates the driver gets the text of the class', async () => {
    const fixture = fixtureWith({ tag: TAG }, {}, {})
    await fixture.start()
    expect([sent(fixture), recordOf(fixture)]).toEqual([[{ tag: TAG }], undefined])
  })

  it('a group snapshot gets the values of its VolumeGroupSnapshot', async () => {
    const labels = { team: 'storage' }
    const head = { apiVersion: 'groupsnapshot.storage.k8s.io/v1', kind: 'VolumeGroupSnapshot' }
    const parameters = { tag: t("%{volumegroupsnapshot.labels['team']}-%{volumegroupsnapshotcontent.name}") }
    const fixture = await Fixture.running({
      settings: { parameterTemplates: true },
      objects: [
        [VOLUME_GROUP_SNAPSHOT_CLASSES, groupClass('k', { parameters })],
        [VOLUME_GROUP_SNAPSHOTS, { ...head, metadata: { namespace: 'default', name: 'gs', uid: UID, labels } }],
        [VOLUME_GROUP_SNAPSHOT_CONTENTS, vgsc()],
      ],
    })
    expect(fixture.takeCalls('CreateVolumeGroupSnapshot')).toMatchObject([
      { request: { parameters: { tag: 'storage-g' } } },
    ])
  })
})

describe('a repeated CreateSnapshot call', () => {
  it.each(['before', 'after'] as const)(
    'has the earlier value of a changed label if the process was killed %s the driver created the snapshot',
    async (moment) => {
      const fixture = fixtureWith({ tag: TAG }, { labels: { team: 'storage' } })
      await fixture.startStepwise()
      const call = await reach(fixture, 'call CreateSnapshot')
      if (moment === 'after') call.apply()
      fixture.kill()
      setTeam(fixture, 'other')
      await fixture.start()
      expect(sent(fixture)).toEqual([{ tag: 'storage' }, { tag: 'storage' }])
      expect(contentOf(fixture)?.status?.readyToUse).toBe(true)
      expect(fixture.storage.snapshots.size).toBe(1)
    },
  )

  it('needs no VolumeSnapshot, which a user may have deleted', async () => {
    const fixture = fixtureWith({ tag: TAG }, { labels: { team: 'storage' } })
    await fixture.startStepwise()
    await reach(fixture, 'call CreateSnapshot')
    fixture.kill()
    fixture.api.delete(VOLUME_SNAPSHOTS, { namespace: 'default', name: 's' })
    await fixture.start()
    expect(sent(fixture)).toEqual([{ tag: 'storage' }, { tag: 'storage' }])
  })

  it('has the current value if the process was killed before the values were stored', async () => {
    const fixture = fixtureWith({ tag: TAG }, { labels: { team: 'storage' } })
    await fixture.startStepwise()
    await reach(fixture, 'patch volumesnapshotcontents')
    fixture.kill()
    setTeam(fixture, 'other')
    await fixture.start()
    expect(sent(fixture)).toEqual([{ tag: 'other' }])
    expect(JSON.parse(recordOf(fixture) ?? '').values).toEqual({ [TEAM]: 'other' })
  })

  it('has the earlier value while the process waits for a ready snapshot, also after a restart', async () => {
    const fixture = fixtureWith({ tag: TAG }, { labels: { team: 'storage' } })
    fixture.storage.ready = false
    await fixture.start()
    setTeam(fixture, 'other')
    await fixture.clock.advance(1_000)
    fixture.kill()
    await fixture.start()
    const calls = sent(fixture)
    expect(calls.length).toBeGreaterThan(2)
    expect(new Set(calls.map((each) => JSON.stringify(each)))).toEqual(new Set(['{"tag":"storage"}']))
  })

  it('has the current value after a final error, because no snapshot exists', async () => {
    const fixture = fixtureWith({ tag: TAG }, { labels: { team: 'storage' } })
    fixture.scripts.set('CreateSnapshot', failing(CODES.InvalidArgument))
    await fixture.start()
    setTeam(fixture, 'other')
    fixture.scripts.clear()
    await fixture.clock.advance(1_000)
    expect(sent(fixture)).toEqual([{ tag: 'storage' }, { tag: 'other' }])
    expect(JSON.parse(recordOf(fixture) ?? '').values).toEqual({ [TEAM]: 'other' })
  })

  it('is built again if another process has stored other values since the read', async () => {
    const fixture = fixtureWith({ tag: TAG }, { labels: { team: 'storage' } })
    await fixture.startStepwise()
    await reach(fixture, 'patch volumesnapshotcontents')
    const record = JSON.stringify({ uid: UID, values: { [TEAM]: 'first' } })
    const annotations = { [SNAPSHOT_NAMES.beingCreated]: 'yes', [PARAMETER_VALUES]: record }
    fixture.api.edit(VOLUME_SNAPSHOT_CONTENTS, { name: 'c' }, { metadata: { annotations } })
    fixture.running.answerAtOnce()
    await fixture.clock.settle()
    await fixture.clock.advance(1_000)
    expect(sent(fixture)).toEqual([{ tag: 'first' }])
    expect([recordOf(fixture), fixture.takeEvents()]).toEqual([record, []])
  })

  it('has the stored values that the API server has, although the cache has older ones', async () => {
    const fixture = fixtureWith({ tag: TAG }, { labels: { team: 'storage' } })
    const store = (team: string): void => {
      const record = JSON.stringify({ uid: UID, values: { [TEAM]: team } })
      const annotations = { [SNAPSHOT_NAMES.beingCreated]: 'yes', [PARAMETER_VALUES]: record }
      fixture.api.edit(VOLUME_SNAPSHOT_CONTENTS, { name: 'c' }, { metadata: { annotations } })
    }
    store('older')
    await fixture.startStepwise()
    await reach(fixture, 'get volumesnapshotcontents')
    store('newer')
    fixture.running.gate.open()
    await fixture.clock.settle()
    expect(sent(fixture)).toEqual([{ tag: 'newer' }])
  })

  it('a record of another VolumeSnapshot has no effect', async () => {
    const record = JSON.stringify({ uid: 'other', values: { [TEAM]: 'copied' } })
    const fixture = fixtureWith({ tag: TAG }, { labels: { team: 'storage' } })
    const annotations = { [SNAPSHOT_NAMES.beingCreated]: 'yes', [PARAMETER_VALUES]: record }
    fixture.api.edit(VOLUME_SNAPSHOT_CONTENTS, { name: 'c' }, { metadata: { annotations } })
    await fixture.start()
    expect(sent(fixture)).toEqual([{ tag: 'storage' }])
  })
})

describe('a template without a usable value', () => {
  const LABEL = t("%{volumesnapshot.labels['team']}")
  const OTHER_SIGN = /the value has a character other than letters/

  it.each<[name: string, template: string, team: string, error: RegExp]>([
    ['an unknown variable', t('%{volumesnapshot.uid}'), '', /there is no variable volumesnapshot.uid/],
    ['a variable of a claim', t('%{pvc.name}'), '', /there is no variable pvc.name/],
    ['a variable of a group', t('%{volumegroupsnapshot.name}'), '', /there is no variable volumegroupsnapshot.name/],
    ['labels of the content', t("%{volumesnapshotcontent.labels['team']}"), '', /there is no variable/],
    ['a missing value', LABEL, '', /there is no such value, and the template has no default/],
    ['a required value', t("%{volumesnapshot.labels['team']:?set the label team}"), '', /set the label team$/],
    ['a template as the value', LABEL, t('%{volumesnapshot.name}'), OTHER_SIGN],
    ['a second option in the value', LABEL, 'a,encrypted=false', OTHER_SIGN],
    ['a line break in the value', LABEL, 'a\nb', OTHER_SIGN],
    ['a value that leads to another folder', LABEL, '..', /the value consists of dots/],
    ['a value of 256 KiB', LABEL, 'a'.repeat(262_144), /the value is longer than 256 characters/],
  ])('%s causes an error in the status and no call', async (_, template, team, error) => {
    const fixture = fixtureWith({ plain: 'ssd', tag: template }, { labels: { team } })
    await fixture.start()
    expect(errorOf(fixture)).toMatch(error)
    expect(errorOf(fixture).length).toBeLessThan(400)
    await fixture.clock.advance(120_000)
    // The first try creates, all later tries check.
    expect(fixture.takeEvents().map((text) => text.split(':')[0])).toEqual([
      'Warning SnapshotCreationFailed',
      'Warning SnapshotContentCheckandUpdateFailed',
    ])
    expect(fixture.takeWire().filter((each) => each !== 'error')).toEqual([])
    expect(contentOf(fixture)?.metadata?.annotations?.[SNAPSHOT_NAMES.beingCreated]).toBeUndefined()
  })

  it('the snapshot is created within two seconds after the label was added', async () => {
    const fixture = fixtureWith({ tag: LABEL })
    await fixture.start()
    await fixture.clock.advance(20_000)
    const [pending] = [...fixture.running.backlog.pending()]
    expect(pending).toMatchObject({
      reason: 'SnapshotNotUsable',
      waitsFor: expect.arrayContaining(['VolumeSnapshot default/s']),
    })
    setTeam(fixture, 'storage')
    await fixture.clock.advance(2_000)
    expect(sent(fixture)).toEqual([{ tag: 'storage' }])
    expect(contentOf(fixture)?.status?.readyToUse).toBe(true)
  })

  it('the snapshot is created at once after the class was corrected', async () => {
    const fixture = fixtureWith({ tag: t('%{volumesnapshot.uid}') })
    await fixture.start()
    await fixture.clock.advance(20_000)
    await fixture.edit(VOLUME_SNAPSHOT_CLASSES, 'k', { parameters: { tag: t('%{volumesnapshot.name}') } })
    expect(sent(fixture)).toEqual([{ tag: 's' }])
  })

  it.each<[name: string, change: (fixture: Fixture) => void, error: RegExp]>([
    ['gone', () => undefined, /volumesnapshots.* "s" not found/],
    [
      'recreated',
      (fixture) => fixture.api.store(VOLUME_SNAPSHOTS, snapshot({ uid: 'another', labels: { team: 'thief' } })),
      /VolumeSnapshot default\/s has another UID than/,
    ],
  ])('a VolumeSnapshot that is %s causes an error and no call', async (_, change, error) => {
    const fixture = fixtureWith({ tag: LABEL }, { labels: { team: 'storage' } })
    fixture.api.delete(VOLUME_SNAPSHOTS, { namespace: 'default', name: 's' })
    change(fixture)
    await fixture.start()
    expect(errorOf(fixture)).toMatch(error)
    expect(sent(fixture)).toEqual([])
  })

  it('a forged record cannot bring a refused value to the driver', async () => {
    const record = JSON.stringify({ uid: UID, values: { [TEAM]: 'a,encrypted=false' } })
    const fixture = fixtureWith({ tag: TAG }, { labels: { team: 'storage' } })
    const annotations = { [SNAPSHOT_NAMES.beingCreated]: 'yes', [PARAMETER_VALUES]: record }
    fixture.api.edit(VOLUME_SNAPSHOT_CONTENTS, { name: 'c' }, { metadata: { annotations } })
    await fixture.start()
    expect(errorOf(fixture)).toMatch(OTHER_SIGN)
    expect(sent(fixture)).toEqual([])
  })
})
