import { PARAMETER_VALUES } from '@csi-sidecars/csi'
import { PERSISTENT_VOLUME_CLAIMS, STORAGE_CLASSES } from '@csi-sidecars/kube-types'
import type { InFlight } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import { ProvisionerModel } from '../src/testing/model/provisioner-model.ts'

const TEMPLATE = '$'.concat("{pvc.labels['team']:-none}")

function modelWith(template: string): ProvisionerModel {
  const model = new ProvisionerModel({ parameterTemplates: true })
  model.api.edit(STORAGE_CLASSES, { name: 'fast' }, { parameters: { tag: template } })
  model.createClaim('a')
  model.start()
  return model
}

const setTeam = (model: ProvisionerModel, team: string): void => {
  model.api.edit(PERSISTENT_VOLUME_CLAIMS, { namespace: 'ns', name: 'a' }, { metadata: { labels: { team } } })
}

/** Answers requests until the request that `is` accepts is in flight. Returns undefined if no such request comes. */
async function reach(model: ProvisionerModel, is: (label: string) => boolean): Promise<InFlight | undefined> {
  for (let left = 40; left > 0; left -= 1) {
    model.process?.deliver()
    await model.clock.settle()
    const flight = model.flightAt(0)
    if (flight !== undefined && is(flight.label)) return flight
    flight?.answer()
  }
  return undefined
}
const isCreation = (label: string): boolean => label.startsWith('call create')

describe('templates in the parameters of a class', () => {
  it.each(['before', 'after'])(
    'a process that is killed %s its call takes effect leaves the values, so that a changed label does not change the request',
    async (moment) => {
      const model = modelWith(TEMPLATE)
      setTeam(model, 'storage')
      const first = await reach(model, isCreation)
      expect(first).toBeDefined()
      const record = model.claim('a')?.metadata?.annotations?.[PARAMETER_VALUES]
      expect(JSON.parse(record ?? '{}').values).toEqual({ "pvc.labels['team']:-none": 'storage' })
      if (moment === 'after') first?.apply()
      model.kill()
      setTeam(model, 'other')
      model.start()
      const second = await reach(model, isCreation)
      second?.answer()
      await model.clock.settle()
      expect(model.refused.size).toBe(0)
      expect(model.claim('a')?.metadata?.annotations?.[PARAMETER_VALUES]).toBe(record)
      await reach(model, () => false)
      expect(model.volumes.map(({ spec }) => spec?.claimRef?.name)).toEqual(['a'])
      model.kill()
    },
  )

  it('after a final error of the driver, the next request has the new label', async () => {
    const model = modelWith(TEMPLATE)
    setTeam(model, 'storage')
    const first = await reach(model, isCreation)
    if (first !== undefined) model.failFlight(first, 0)
    await model.clock.settle()
    setTeam(model, 'other')
    const second = await reach(model, isCreation)
    expect(second).toBeDefined()
    const record = model.claim('a')?.metadata?.annotations?.[PARAMETER_VALUES]
    expect(JSON.parse(record ?? '{}').values).toEqual({ "pvc.labels['team']:-none": 'other' })
    model.kill()
  })

  it.each(['$'.concat("{pvc.labels['missing']}"), '$'.concat('{pvc.size}')])(
    'the template %s causes one event and no call',
    async (template) => {
      const model = modelWith(template)
      expect(await reach(model, isCreation)).toBeUndefined()
      model.process?.gate.open()
      await model.clock.advance(120_000)
      expect(model.storage.volumes.size).toBe(0)
      const failures = model.process?.events.filter((event) => event.startsWith('ProvisioningFailed')) ?? []
      expect(failures).toHaveLength(1)
      expect(failures[0]).toContain('parameter "tag" has the template')
      model.kill()
    },
  )
})
