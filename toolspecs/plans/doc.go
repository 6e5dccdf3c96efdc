// Package plans decodes plan files and the scripts of the scripted model, and writes plans as YAML.
package plans
