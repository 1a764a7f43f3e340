import { describe, expect, it } from '@jest/globals'
import { attachmentName, csiVolumeOf, ephemeralHandle, uniqueVolumeName } from './volume-names.ts'

const volume = { driver: 'csi.example.com', volumeHandle: 'vol-1' }

describe('volume names', () => {
  it('a unique volume name contains the driver and the handle', () => {
    const name = uniqueVolumeName(volume)
    expect(name).toBe('kubernetes.io/csi/csi.example.com^vol-1')
    expect(csiVolumeOf(name)).toEqual(volume)
  })

  it('a caret in the volume handle is preserved in the unique volume name', () => {
    expect(csiVolumeOf(uniqueVolumeName({ ...volume, volumeHandle: 'a^b' }))?.volumeHandle).toBe('a^b')
  })

  it.each(['kubernetes.io/aws-ebs/vol-1', 'kubernetes.io/csi/nothing'])('`csiVolumeOf` rejects the name %s', (name) => {
    expect(csiVolumeOf(name)).toBeUndefined()
  })

  it('the name of an attachment contains the hash that kubelet expects', () => {
    // sha256 of 'vol-1' + 'csi.example.com' + 'node-1'
    expect(attachmentName(volume, 'node-1')).toBe(
      'csi-b74c7fc125891ffa0d0f2e0d645733e3fae7fba3066e76500a771ea08be9da28',
    )
  })

  it('inline volumes of one pod have different handles', () => {
    expect(ephemeralHandle('uid', 'scratch')).not.toBe(ephemeralHandle('uid', 'other'))
  })
})
