import { expect, it, jest } from '@jest/globals'
import { seedResult } from './testing/seed-result.ts'

jest.setTimeout(120_000)

// The test has a file of its own, because the endless list keeps its process busy.
it('the run of a seed finds a driver whose list of volumes has no last page', async () => {
  const { findings, clusterFaults } = await seedResult({
    spoil: (driver) => driver.script('ListVolumes', () => ({ entries: [], nextToken: 'again' })),
  })
  const text = 'ListVolumes, of which the driver says that it has it: it has no end, there are more than 1000 pages'
  expect(findings).toContainEqual(expect.objectContaining({ check: 'listed', subjectId: undefined, text, calls: [] }))
  expect(clusterFaults).toEqual([])
})
