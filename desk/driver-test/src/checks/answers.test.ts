import { answered } from '@csi-sidecars/disturb/testing/proxied-calls'
import { describe, expect, it } from '@jest/globals'
import { wrongAnswer } from './answers.ts'
import { Tracker } from './tracker.ts'

const place = (zone: string) => ({ segments: { zone } })
const source = (volumeId: string) => ({ type: { $case: 'volume', value: { volumeId } } })

function broken(request: object, volume: object, code = 0): readonly string[] {
  const response = { volume: { volumeId: 'vol', accessibleTopology: [], contentSource: undefined, ...volume } }
  return answered('CreateVolume', { name: 'pvc', ...request }, { code, response }).flatMap((call) =>
    wrongAnswer(call, new Tracker()).map(({ check, text }) => `${check}: ${text}`),
  )
}

describe('wrongAnswer', () => {
  const east = { accessibilityRequirements: { requisite: [place('east'), place('north')], preferred: [] } }

  it('the check of answers accepts a volume with a requested topology, and a volume without a topology', () => {
    expect(broken(east, { accessibleTopology: [place('west'), place('north')] })).toEqual([])
    expect(broken(east, {})).toEqual([])
    expect(broken({}, { accessibleTopology: [place('west')] })).toEqual([])
  })

  it('the check of answers reports a volume with a topology that was not requested', () => {
    expect(broken(east, { accessibleTopology: [place('west')] })).toEqual([
      'reach: volume vol is in {"zone":"west"}, not where asked',
    ])
  })

  it('the check of answers reports an answer to CreateVolume without a volume ID', () => {
    const nameless = ['named: CreateVolume of pvc succeeded and names no volume']
    expect(broken(east, { volumeId: '', accessibleTopology: [place('west')] })).toEqual(nameless)
    const [, empty] = answered('CreateVolume', { name: 'pvc' }, { response: { volume: undefined } })
    expect(wrongAnswer(empty, new Tracker()).map(({ check, text }) => `${check}: ${text}`)).toEqual(nameless)
  })

  it('the check of answers reports an answer to CreateVolume without the requested content source', () => {
    const clone = { volumeContentSource: source('vol-0') }
    expect(broken(clone, { contentSource: source('vol-0') })).toEqual([])
    expect(broken(clone, {})).toEqual(['content: volume vol is created from volume vol-0 and does not say so'])
    expect(broken(clone, { contentSource: source('vol-1') })).toHaveLength(1)
  })

  it('the check of answers ignores the answer to CreateVolume if the call failed', () => {
    expect(broken(east, { accessibleTopology: [place('west')] }, 13)).toEqual([])
  })
})
