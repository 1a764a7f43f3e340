// Once before all tests: Helm is built where it is not installed and Go is. What is missing is said.
import { provideHelm } from './helm.ts'
import { promtoolPath } from './promtool.ts'

export default function setup() {
  const lacking = provideHelm()
  if (lacking !== undefined) process.stdout.write(`${lacking}\n`)
  if (promtoolPath() === undefined) {
    process.stdout.write('The rules of the alerts are not tested with series: install promtool (Debian: prometheus)\n')
  }
}
