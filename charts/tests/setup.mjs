// Runs once before all tests. Builds Helm if it is missing and Go is installed, and prints which programs are missing.
import { provideHelm } from './helm.ts'
import { promtoolPath } from './promtool.ts'

export default function setup() {
  const lacking = provideHelm()
  if (lacking !== undefined) process.stdout.write(`${lacking}\n`)
  if (promtoolPath() === undefined) {
    process.stdout.write('The rules of the alerts are not tested with series: install promtool (Debian: prometheus)\n')
  }
}
