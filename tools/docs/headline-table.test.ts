import { expect, it } from '@jest/globals'
import { headlineTable } from './headline-table.ts'
import { readText } from './source-texts.ts'

const RESULTS = readText('testing/bench/RESULTS.md')
const ROW = /^(\| attacher \| 100: attached \(s\) \|).*$/m

it.each([
  { figures: '9.9 (8 to 11) | 10.1', row: '| 9.9 s | 10.1 s |', isForUs: true },
  { figures: '10.1 | 9.9 (8 to 11)', row: '| 10.1 s | 9.9 s |', isForUs: false },
  { figures: '10 | 10', row: '| 10 s | 10 s |', isForUs: false },
])('the headline table places the row with the figures $figures', ({ figures, row, isForUs }) => {
  const text = headlineTable(RESULTS.replace(ROW, `$1 ${figures} | 1 |`))
  const [forUs = '', forTheOriginals = ''] = text.split('where the originals are ahead or equal')
  expect(isForUs ? forUs : forTheOriginals).toContain(`| 100 volumes to attach at once ${row}`)
})

it('the headline table causes an error if RESULTS.md lacks one of its figures', () => {
  expect(() => headlineTable(RESULTS.replace(ROW, ''))).toThrow('RESULTS.md has no 100: attached (s) in Attachments')
})
