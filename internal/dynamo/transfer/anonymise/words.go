package anonymise

import "strings"

// The lists of words for invented values.
var (
	firstNames = strings.Fields(`Ada Alba Amir Anouk Aria Asha Ben Bruno Carla Chidi Clara Dalia Dario Deniz Edda Elif
		Emil Enzo Farah Felix Freya Gita Goran Hana Hugo Ida Ines Ivan Jana Joel Jun Kai Keiko Kofi Lars Leila Lena Luca
		Maia Malik Mara Mateo Mina Nadia Nils Noor Olga Omar Pablo Petra Priya Quinn Rafi Rosa Ruben Sami Sara Sena Tara
		Tomas Uma Viktor Wanda Yara Yuki Zane Zofia`)
	lastNames = strings.Fields(`Abara Adler Almeida Bakker Banerjee Barros Becker Bianchi Brandt Castro Cermak Costa Dahl
		Demir Dubois Eklund Farkas Ferrari Fischer Fontaine Garcia Gruber Haas Hansen Horvat Ito Ivanov Jansen Joshi
		Kamara Kato Keller Kovacs Lang Larsen Lopez Marek Mehta Meyer Moreau Mori Nagy Nakamura Novak Okafor Olsen Patel
		Pereira Popa Quist Ramos Ricci Rossi Sato Silva Singh Sorensen Tanaka Torres Ueda Varga Weber Wolf Yilmaz Zeman`)
	streets = strings.Split("Birch Lane|Canal Street|Cedar Road|Church Lane|Elm Street|Field Road|Forest Way|Garden Street|"+
		"Harbour Road|High Street|Hill Road|Lake Street|Linden Avenue|Maple Avenue|Market Square|Meadow Lane|Mill Road|"+
		"Oak Street|Park Avenue|Pine Street|River Road|School Lane|Station Road|Willow Way", "|")
	cities = strings.Split("Alderfield|Ashbrook|Bellhaven|Birkdal|Brookmere|Castelmar|Clearwell|Dunmore|Eastvale|Elmstad|"+
		"Fairmouth|Glenbridge|Greyford|Havenport|Kestrel Bay|Lindholm|Marbury|Northwick|Oakhurst|Pinecrest|Ravenna Hill|"+
		"Rosewater|Sandvik|Silverton|Stonegate|Thornby|Valmora|Westmarsh|Wintervale|Yarrow", "|")
	companies = strings.Fields("AG AB BV GmbH Group Inc KK Labs Limited Partners SA Sons Systems Trading Works")
)

func lower(s string) string { return strings.ToLower(s) }
